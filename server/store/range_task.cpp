#include "server/store/range_task.hpp"

#include <algorithm>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "server/store/value_reply.hpp"

namespace mxkv::server {

namespace {

/// Entries between two looks at the clock.
constexpr std::uint64_t kClockEvery = 32;

}  // namespace

RangeTask::RangeTask(const runtime::TaskClass* task_class, ItemTree& tree,
                     const protocol::RangeRequest& request, const RangeLimits& limits, RangeState& state,
                     const ReplyAddress& address, std::uint64_t now_ns) noexcept
    : Base(task_class, tree), state_(&state), address_(address) {
  state = RangeState{};
  state.item_limit = std::min(request.limit, limits.items);
  state.ceiling = request.limit > limits.items;
  state.byte_limit = request.byte_limit == 0 ? limits.bytes : std::min(request.byte_limit, limits.bytes);
  state.deadline_ns = now_ns + limits.time_ns;
  state.reverse = request.reverse;
  state.keys_only = request.keys_only;
  state.with_cas = request.with_cas;
  state.base64 = request.base64;
  state.want_cursor = request.want_cursor;
  set_bounds(request);
}

void RangeTask::set_key(std::string_view key) noexcept {
  std::copy(key.begin(), key.end(), key_);
  key_bytes_ = static_cast<std::uint8_t>(key.size());
  state_->skip_start = false;
}

void RangeTask::set_bounds(const protocol::RangeRequest& request) noexcept {
  const protocol::RangeBound& near = request.reverse ? request.high : request.low;
  const protocol::RangeBound& far = request.reverse ? request.low : request.high;
  std::string_view far_key;
  if (request.by_prefix) {
    state_->far = RangeState::far_bound::prefix;
    far_key = request.prefix;
  } else if (!far.unbounded) {
    state_->far = far.inclusive ? RangeState::far_bound::inclusive : RangeState::far_bound::exclusive;
    far_key = far.key;
  }
  std::copy(far_key.begin(), far_key.end(), state_->far_key);  // may be empty, without an address
  state_->far_bytes = static_cast<std::uint8_t>(far_key.size());
  if (!near.unbounded) {
    set_start(near);
  } else if (!request.reverse) {
    set_key(request.by_prefix ? request.prefix : std::string_view{});
  } else {
    start_behind_prefix(request.by_prefix ? request.prefix : std::string_view{});
  }
}

void RangeTask::set_start(const protocol::RangeBound& bound) noexcept {
  set_key(bound.key);
  if (!state_->reverse) {
    state_->skip_start = !bound.inclusive;
  } else if (bound.inclusive) {
    key_[key_bytes_++] = '\0';  // the least key above it: what lies below that includes it
  }
}

// The least key above all that begin with `prefix`; nothing but 0xFF, longer than any key, is above all.
void RangeTask::start_behind_prefix(std::string_view prefix) noexcept {
  while (!prefix.empty() && prefix.back() == '\xFF') {
    prefix.remove_suffix(1);
  }
  if (prefix.empty()) {
    std::memset(key_, 0xFF, sizeof key_);
    key_bytes_ = sizeof key_;
    return;
  }
  set_key(prefix);
  ++key_[key_bytes_ - 1];
}

bool RangeTask::beyond(std::string_view key) const noexcept {
  const std::string_view far{state_->far_key, state_->far_bytes};
  switch (state_->far) {
    case RangeState::far_bound::none:
      return false;
    case RangeState::far_bound::prefix:
      return !key.starts_with(far);
    case RangeState::far_bound::inclusive:
      return state_->reverse ? key < far : key > far;
    case RangeState::far_bound::exclusive:
      return state_->reverse ? key <= far : key >= far;
  }
  return true;
}

bool RangeTask::visit(std::uint64_t /*head*/, std::uint64_t value, runtime::Worker& worker) {
  const Item& item = *ItemRecord::item(value);
  const std::string_view key = item.key();
  RangeState& state = *state_;
  if (beyond(key)) {
    return false;
  }
  if ((state.skip_start && key == this->key()) || !is_live(item, worker)) {
    return true;
  }
  const bool time_is_up = state.items > 0 && state.items % kClockEvery == 0 &&
                          worker.runtime().clock().monotonic_ns() > state.deadline_ns;
  const std::uint64_t bytes = key.size() + (state.keys_only ? 0 : item.value_bytes());
  const bool too_many_bytes = state.items > 0 && state.bytes + bytes > state.byte_limit;
  if (state.items == state.item_limit || too_many_bytes || time_is_up) {
    state.more = true;
    state.ceiling = state.ceiling || state.items < state.item_limit;
    return false;
  }
  if (!state.base64 && !protocol::is_printable_key(key)) {
    state.binary_key = true;
    return false;
  }
  ReplyQueue* queue = worker.local<WorkerContext>().replies->find(address_);
  if (queue == nullptr) {
    return false;  // the client is gone
  }
  write_entry(*queue, item, worker);
  ++state.items;
  state.bytes += bytes;
  std::memcpy(state.last_key, key.data(), key.size());
  state.last_bytes = static_cast<std::uint8_t>(key.size());
  // Without a cursor to print nobody needs to know whether there is more.
  return state.items < state.item_limit || state.ceiling || state.want_cursor;
}

void RangeTask::write_entry(ReplyQueue& queue, const Item& item, runtime::Worker& worker) {
  char encoded[4 * ((index::kMaxKeyBytes + 2) / 3)];
  std::string_view key = item.key();
  if (state_->base64) {
    key = {encoded, static_cast<std::size_t>(protocol::write_base64(encoded, key) - encoded)};
  }
  if (state_->keys_only) {
    char* out = queue.reserve(address_.ticket, protocol::kMaxHeaderBytes);
    queue.commit(address_.ticket, protocol::write_key_line(out, key));
  } else {
    write_value_as(queue, address_.ticket, key, item, ReplyForm{state_->with_cas, false}, worker);
  }
}

void RangeTask::write_cursor_line(ReplyQueue& queue) {
  const RangeState& state = *state_;
  protocol::CursorState cursor;
  cursor.last_key = {state.last_key, state.last_bytes};
  cursor.reverse = state.reverse;
  const std::string_view far{state.far_key, state.far_bytes};
  if (state.far == RangeState::far_bound::prefix) {
    cursor.by_prefix = true;
    cursor.prefix = far;
  } else if (state.far != RangeState::far_bound::none) {
    cursor.far = {far, false, state.far == RangeState::far_bound::inclusive};
  }
  constexpr std::string_view kWord = "CURSOR ";
  char* out =
      queue.reserve(address_.ticket, kWord.size() + protocol::kMaxCursorBytes + protocol::kCrLf.size());
  out = protocol::write_text(out, kWord);
  out = protocol::write_cursor(out, cursor);
  queue.commit(address_.ticket, protocol::write_text(out, protocol::kCrLf));
}

runtime::step RangeTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_scan);
  context.counters.count(counter::scan_items, state_->items);
  if (ReplyQueue* queue = context.replies->find(address_)) {
    if (state_->binary_key) {
      queue->append(address_.ticket, protocol::kBinaryKey);
    } else {
      if (state_->more && state_->items > 0 && (state_->want_cursor || state_->ceiling)) {
        write_cursor_line(*queue);
      }
      queue->append(address_.ticket, protocol::kEnd);
    }
    queue->close(address_.ticket);
  }
  worker.unpin(*this);
  discard(worker);
  context.replies->finished(address_);
  return runtime::step::done;
}

void RangeTask::discard(runtime::Worker& worker) {
  worker.release_block(std::exchange(state_, nullptr), runtime::task_block_for(sizeof(RangeState)));
}

}  // namespace mxkv::server

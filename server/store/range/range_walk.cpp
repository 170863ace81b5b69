#include "server/store/range/range_walk.hpp"

#include <algorithm>
#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/neighbour_keys.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/locks/range_locks.hpp"

namespace mxkv::server {

bool RangeState::beyond_bound(std::string_view key) const noexcept {
  const std::string_view bound{far_key, far_bytes};
  if (!cut.empty() && (reverse ? key < cut : key >= cut)) [[unlikely]] {
    return true;
  }
  switch (far) {
    case far_bound::none:
      return false;
    case far_bound::prefix:
      return !key.starts_with(bound);
    case far_bound::inclusive:
      return reverse ? key < bound : key > bound;
    case far_bound::exclusive:
      return reverse ? key <= bound : key >= bound;
  }
  return true;
}

// The next page begins behind the cursor's key. Walking up, that is the greatest key below the cut.
void RangeState::end_at_cut() noexcept {
  more = ceiling = true;
  last = nullptr;
  KeyRoom room;
  const std::string_view end = reverse ? cut : key_before(cut, room);
  last_bytes = static_cast<std::uint8_t>(end.copy(last_key, sizeof last_key));
}

RangeState* RangeWalk::make_state(runtime::Worker& worker, const protocol::MetaFlags* meta) {
  auto* state = new (worker.allocate_block(runtime::task_block_for(sizeof(RangeState)))) RangeState;
  if (meta != nullptr) {
    state->meta = new (worker.allocate_block(runtime::task_block_for(sizeof(protocol::MetaFlags))))
        protocol::MetaFlags(*meta);
  }
  return state;
}

void RangeWalk::release(runtime::Worker& worker) noexcept {
  MXKV_ASSERT(state_ != nullptr, "the state of a range is given back once");
  drop_page(worker);
  if (state_->meta != nullptr) {
    worker.release_block(state_->meta, runtime::task_block_for(sizeof(protocol::MetaFlags)));
  }
  if (state_->lock != nullptr) {
    state_->lock->task_class().discard(*state_->lock, worker);
  }
  worker.release_block(std::exchange(state_, nullptr), runtime::task_block_for(sizeof(RangeState)));
}

runtime::step RangeWalk::end(runtime::MxTask& task, runtime::Worker& worker) {
  worker.unpin(task);
  if (RangeLock* const lock = std::exchange(state_->lock, nullptr)) {
    lock->release(worker);
  }
  worker.local<WorkerContext>().replies->finished(address_);
  if (state_->away != nullptr) {
    state_->page_goes_back = true;
    leave_tree(task);
    task.annotate(runtime::WorkerId{state_->away_at});
    return runtime::step::again;
  }
  release(worker);
  return runtime::step::done;
}

// --- Elsewhere ---

namespace {

/// The only reply in a page's queue.
constexpr std::uint32_t kAwayTicket = 0;

}  // namespace

PagePlace RangeWalk::page(runtime::Worker& worker) const noexcept {
  if (is_home(worker)) {
    const auto& context = worker.local<WorkerContext>();
    return {context.replies->find(address_, seen(context)), address_.ticket};
  }
  MXKV_DCHECK(state_->away != nullptr && state_->away_at == worker.id().value(),
              "a page is written where it was opened");
  return {state_->away, kAwayTicket};
}

void RangeWalk::open_page_away(runtime::Worker& worker) {
  if (is_home(worker)) {
    return;
  }
  MXKV_PATH(page_away);
  MXKV_ASSERT(state_->away == nullptr, "one page is written at a time");
  state_->away = new (worker.allocate_block(runtime::task_block_for(sizeof(ReplyQueue))))
      ReplyQueue(worker.local<WorkerContext>().replies->pool());
  state_->away_at = worker.id().value();
  const std::uint32_t ticket = state_->away->open();
  MXKV_ASSERT(ticket == kAwayTicket, "tickets begin with this one");
}

// The blocks belong to the page's worker, which does not touch them meanwhile.
void RangeWalk::take_page(runtime::Worker& worker) {
  MXKV_ASSERT(is_home(worker), "replies are written at home");
  const auto& context = worker.local<WorkerContext>();
  ReplyQueue* const queue = context.replies->find(address_, seen(context));
  if (state_->away == nullptr || queue == nullptr) {
    return;
  }
  state_->away->output().each_piece(
      [this, queue](std::string_view piece) { queue->append(address_.ticket, piece); });
}

void RangeWalk::drop_page(runtime::Worker& worker) noexcept {
  if (ReplyQueue* const page = std::exchange(state_->away, nullptr)) {
    page->~ReplyQueue();
    worker.release_block(page, runtime::task_block_for(sizeof(ReplyQueue)));
  }
}

void RangeWalk::let_go(runtime::Worker& worker) noexcept {
  if (RangeLock* const lock = std::exchange(state_->lock, nullptr)) {
    lock->release(worker);
  }
}

void RangeWalk::stop_before_next() noexcept {
  set_start({.key = std::exchange(state_->goes_on_at, nullptr)->key(), .inclusive = true});
}

// --- Its limits ---

void RangeWalk::limit(const protocol::RangeRequest& request, const RangeLimits& limits,
                      std::uint64_t now_ns) noexcept {
  MXKV_ASSERT(request.limit > 0, "a range of no items is answered without a task");
  state_->item_limit = std::min(request.limit, limits.items);
  state_->ceiling = request.limit > limits.items;
  state_->byte_limit = request.byte_limit == 0 ? limits.bytes : std::min(request.byte_limit, limits.bytes);
  state_->created_ns = now_ns;
  state_->deadline_ns = now_ns + limits.time_ns;
  if (request.time_limit_us != 0 && request.time_limit_us < limits.time_ns / 1000) {
    state_->deadline_ns = now_ns + request.time_limit_us * 1000;
  }
}

void RangeWalk::hold(RangeLock& lock, runtime::Worker& worker) noexcept {
  MXKV_ASSERT(state_->lock == nullptr, "a range is held once at a time");
  MXKV_ASSERT(state_->items == 0, "a range is held before anything of it is met");
  state_->lock = &lock;
  state_->moment_us = worker.now_us();
  state_->deadline_ns += worker.now_ns() - std::exchange(state_->created_ns, worker.now_ns());
}

/// The first slots in walking order, as many as should suffice for a page.
runtime::SlotInterval RangeWalk::part_of(const runtime::SlotInterval& all,
                                         const KeyPartition& slots) const noexcept {
  MXKV_ASSERT(all.first <= all.last, "slots are in the order of their keys");
  const std::uint64_t items = slots.items_a_slot();
  const std::uint64_t behind = items == 0 ? slots.most() : 1 + 2 * state_->item_limit / items;
  const auto more = static_cast<std::uint32_t>(std::min<std::uint64_t>(behind, all.last - all.first));
  return state_->reverse ? runtime::SlotInterval{all.last - more, all.last}
                         : runtime::SlotInterval{all.first, all.first + more};
}

void RangeWalk::end_with_part(const runtime::SlotInterval& held, const KeyPartition& slots) noexcept {
  MXKV_ASSERT(!state_->holds_part || state_->far == RangeState::far_bound::none,
              "a page with a far bound is held to that");
  MXKV_ASSERT(held.last < slots.count(), "slots that are held are on the map of now");
  state_->holds_part =
      state_->holds_part && (state_->reverse ? held.first > 0 : held.last + 1 < slots.count());
  if (!state_->holds_part) {
    return;
  }
  const std::string_view end = slots.begin_of(state_->reverse ? held.first : held.last + 1);
  MXKV_ASSERT(end.size() <= sizeof state_->far_key, "a part ends at a key");
  state_->far = state_->reverse ? RangeState::far_bound::inclusive : RangeState::far_bound::exclusive;
  std::copy(end.begin(), end.end(), state_->far_key);
  state_->far_bytes = static_cast<std::uint8_t>(end.size());
}

runtime::SlotInterval RangeWalk::held_slots(const KeyPartition& slots) const noexcept {
  const std::string_view far{state_->far_key, state_->far_bytes};
  const bool by_prefix = state_->far == RangeState::far_bound::prefix;
  if (state_->far == RangeState::far_bound::none) {
    const runtime::SlotInterval all = state_->reverse ? slots.slots_of({}, key()) : slots.from(key());
    return state_->holds_part ? part_of(all, slots) : all;
  }
  if (state_->reverse) {
    return slots.slots_of(far, key());
  }
  if (!by_prefix) {
    return slots.slots_of(key(), far);
  }
  KeyRoom room;
  return slots.slots_of(key(), last_with_prefix(far, room));
}

void RangeWalk::note_start() noexcept {
  MXKV_ASSERT(state_->last == nullptr && state_->items == 0, "a start is noted before anything is shown");
  start_skipped_ = state_->skip_start;
  std::copy_n(key_, key_bytes_, state_->last_key);
  state_->last_bytes = key_bytes_;
}

void RangeWalk::back_to_start() noexcept {
  MXKV_ASSERT(state_->last == nullptr && state_->items == 0, "what was shown would hide the start");
  set_key({state_->last_key, state_->last_bytes});
  state_->skip_start = start_skipped_;
}

Seen RangeWalk::saw_with_horizon(RangeState& state, const ReplyAddress& address, const Item* item,
                                 const ItemNode& leaf, runtime::Worker& worker) noexcept {
  const auto& context = worker.local<WorkerContext>();
  state.seen.add(item, leaf, context);
  const Seen seen = state.seen.at_home(context);
  if (worker.id().value() == address.worker) {
    context.replies->show(address, seen);
  }
  return seen;
}

runtime::step RangeWalk::refuse(Seen seen, std::string_view text, runtime::MxTask& task,
                                runtime::Worker& worker) {
  if (ReplyQueue* const queue = worker.local<WorkerContext>().replies->find(address_, seen)) {
    queue->append(address_.ticket, text);
    queue->close(address_.ticket);
  }
  return end(task, worker);
}

void RangeWalk::set_key(std::string_view key) noexcept {
  MXKV_DCHECK(key.size() <= sizeof key_, "a key fits where the walk keeps it");
  std::copy(key.begin(), key.end(), key_);
  key_bytes_ = static_cast<std::uint8_t>(key.size());
  state_->skip_start = false;
  state_->keep_last();
}

void RangeWalk::set_bounds(const protocol::RangeRequest& request) noexcept {
  state_->reverse = request.reverse;
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
  MXKV_ASSERT(far_key.size() <= sizeof state_->far_key, "a bound is no longer than a key");
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

void RangeWalk::set_start(const protocol::RangeBound& bound) noexcept {
  set_key(bound.key);
  if (!state_->reverse) {
    state_->skip_start = !bound.inclusive;
  } else if (bound.inclusive) {
    MXKV_ASSERT(key_bytes_ < sizeof key_, "there is a key above the longest");
    key_[key_bytes_++] = '\0';  // the least key above it: keys below that include it
  }
}

// If there is no key above those with the prefix: all 0xFF, longer than any key.
void RangeWalk::start_behind_prefix(std::string_view prefix) noexcept {
  KeyRoom room;
  const std::string_view start = behind_prefix(prefix, room);
  if (start.empty()) {
    std::memset(key_, 0xFF, sizeof key_);
    key_bytes_ = sizeof key_;
    return;
  }
  set_key(start);
}

char* RangeWalk::write_cursor(char* out) noexcept {
  RangeState& state = *state_;
  protocol::CursorState cursor;
  cursor.last_key = state.last_written();
  MXKV_ASSERT(!cursor.last_key.empty() && cursor.last_key.size() <= index::kMaxKeyBytes,
              "a cursor goes on behind a key that was met");
  cursor.reverse = state.reverse;
  const std::string_view far{state.far_key, state.far_bytes};
  if (state.far == RangeState::far_bound::prefix) {
    cursor.by_prefix = true;
    cursor.prefix = far;
  } else if (state.far != RangeState::far_bound::none) {
    cursor.far = {far, false, state.far == RangeState::far_bound::inclusive};
  }
  return protocol::write_cursor(out, cursor);
}

}  // namespace mxkv::server

#include "server/store/range/range_task.hpp"

#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/range/plain_run.hpp"

namespace mxkv::server {

void RangeLeaf::write_unusual(std::string_view key, const Item::View& item) {
  MXKV_DCHECK(queue_ != nullptr, "nothing is written to a client that is gone");
  if (state_.meta != nullptr) {
    write_meta_item(item);
    return;
  }
  char encoded[4 * ((index::kMaxKeyBytes + 2) / 3)];
  if (state_.base64) {
    key = {encoded, static_cast<std::size_t>(protocol::write_base64(encoded, key) - encoded)};
  }
  if (state_.keys_only) {
    writer_.commit(protocol::write_key_line(writer_.reserve(protocol::kMaxHeaderBytes), key));
  } else {
    writer_.flush();
    write_value(*queue_, ticket_, key, item, ReplyForm{.with_cas = state_.with_cas}, worker_);
  }
}

unsigned RangeLeaf::take_run(const index::LeafEntries& entries, unsigned from, unsigned to, unsigned ask_to) {
  const std::uint64_t items_left = state_.item_limit - state_.items;
  if (!usual_ || state_.skip_start || items_left <= 1 || state_.bytes > state_.byte_limit) {
    return from;
  }
  const std::uint64_t* const values = entries.values.data();
  PlainRun run{.at = values + from,
               .end = values + std::min<std::uint64_t>(to, from + items_left - 1),
               .asked_end = values + ask_to,
               .out = writer_.reserve(kLeastRoom),
               .room = writer_.room(),
               .bytes_left = state_.byte_limit - state_.bytes,
               .flushed = live_.flushed(),
               .newest = newest_};
  run.write(state_, plain_form_);
  writer_.commit(run.out);
  const auto taken = static_cast<unsigned>(run.at - values) - from;
  if (taken > 0) {
    MXKV_PATH(scan_plain_run);
    state_.items += taken;
    state_.bytes = state_.byte_limit - run.bytes_left;
    state_.last = ItemRecord::item(run.at[-1]);
  }
  return from + taken;
}

RangeTask::RangeTask(const runtime::TaskClass* task_class, ItemTree& tree,
                     const protocol::RangeRequest& request, const RangeLimits& limits, RangeState& state,
                     const ReplyAddress& address, std::uint64_t now_ns) noexcept
    : Base(task_class, tree), RangeWalk(state, address) {
  limit(request, limits, now_ns);
  state.keys_only = request.keys_only;
  state.with_cas = request.with_cas;
  state.base64 = request.base64 || state.meta != nullptr;  // in these forms no key is refused
  state.want_cursor = request.want_cursor;
  state.cut = request.cut;
  set_bounds(request);
  state.holds_part = request.locked && state.far == RangeState::far_bound::none;
}

void RangeLeaf::write_meta_item(const Item::View& item) {
  const bool inlines = state_.meta->value && !item.large();
  char* out =
      writer_.reserve(kMostMetaLineBytes + (inlines ? item.value().size() + protocol::kCrLf.size() : 0));
  out = write_meta_item_line(out, item, *state_.meta, worker_.now_us());
  if (inlines) {
    out = protocol::write_text(protocol::write_text(out, item.value()), protocol::kCrLf);
  }
  writer_.commit(out);
  if (state_.meta->value && !inlines) {
    writer_.flush();
    write_data(*queue_, ticket_, item.item(), protocol::kCrLf, worker_);
  }
}

void RangeTask::write_end(ReplyQueue& queue) {
  RangeState& state = *state_;
  MXKV_ASSERT(!state.binary_key || !state.base64, "base64 carries any key");
  const bool goes_on = state.more && (state.items > 0 || !state.cut.empty());
  if (state.meta != nullptr) {
    if (goes_on || !state.meta->quiet) {
      write_meta_end(queue, goes_on);
    }
    return;
  }
  if (state.binary_key) {
    queue.append(address_.ticket, protocol::kBinaryKey);
    return;
  }
  if (goes_on && (state.want_cursor || state.ceiling)) {
    write_cursor_line(queue);
  }
  queue.append(address_.ticket, protocol::kEnd);
}

// EN A<returned> [G<cursor>] [O<opaque>]
void RangeTask::write_meta_end(ReplyQueue& queue, bool goes_on) {
  constexpr std::size_t kMost = 2 + 2 + protocol::kMaxDigits + 2 + protocol::kMaxCursorBytes + 2 +
                                protocol::MetaFlags::kMostOpaqueBytes + protocol::kCrLf.size();
  char* out = queue.reserve(address_.ticket, kMost);
  out = protocol::write_number(protocol::write_text(out, "EN A"), state_->items);
  if (goes_on) {
    out = write_cursor(protocol::write_text(out, " G"));
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

void RangeTask::write_cursor_line(ReplyQueue& queue) {
  constexpr std::string_view kWord = "CURSOR ";
  char* out =
      queue.reserve(address_.ticket, kWord.size() + protocol::kMaxCursorBytes + protocol::kCrLf.size());
  out = protocol::write_text(out, kWord);
  out = write_cursor(out);
  queue.commit(address_.ticket, protocol::write_text(out, protocol::kCrLf));
}

void RangeTask::begin(RangeLock& lock, runtime::Worker& worker) {
  hold(lock, worker);
  open_page_away(worker);
  end_with_part(lock.slots(), worker.local<WorkerContext>().locks->slots);
  if (state_->holds_part) {
    note_start();
  }
  start(worker);
}

// The held part was empty. The next part would be read at another moment, at which this one may have items.
// So the whole range is held instead, and read from the start.
runtime::step RangeTask::hold_more(runtime::Worker& worker) {
  MXKV_ASSERT(state_->lock != nullptr, "what is to hold more has held a part");
  drop_page(worker);  // on this worker; the page is empty
  back_to_start();
  leave_tree(*this);
  worker.unpin(*this);
  std::exchange(state_->lock, nullptr)->release(worker);
  RangeLock::create(worker, *worker.local<WorkerContext>().locks, *this, runtime::WorkerId{address_.worker})
      ->start(worker);
  return runtime::step::parked;
}

runtime::step RangeTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  if (state_->goes_on_at != nullptr) {
    stop_before_next();
    goes_on_ = true;
    worker.unpin(*this);
    return go_home(*this, address_);
  }
  MXKV_ASSERT(state_->items <= state_->item_limit, "a page keeps to its limit of items");
  MXKV_ASSERT(state_->items <= 1 || state_->bytes <= state_->byte_limit,
              "a page keeps to its limit of bytes, but for a first item");
  MXKV_ASSERT(!state_->holds_part || state_->lock != nullptr, "a part is held until its page ends");
  if (std::exchange(state_->holds_part, false)) {
    state_->far = RangeState::far_bound::none;
    // A walk that came home with a page has met a large item. Then its key cannot be written, or the client
    // is gone.
    if (state_->items == 0 && !state_->more && (state_->away == nullptr || !is_home(worker))) {
      return hold_more(worker);
    }
    state_->more = true;
  }
  // If the client's limit ended the page, the reply does not say whether there is more.
  const bool told = state_->items < state_->item_limit || state_->want_cursor || state_->ceiling;
  if (!state_->cut.empty() && !state_->more && told) [[unlikely]] {
    state_->end_at_cut();
  }
  if (!is_home(worker)) {
    let_go(worker);
    return go_home(*this, address_);
  }
  return answer(worker);
}

runtime::step RangeTask::resume_item(runtime::Worker& worker) {
  if (state_->page_goes_back) {
    return page_came_back(worker);
  }
  take_page(worker);
  if (std::exchange(goes_on_, false)) {
    worker.pin(*this);
    return rescan(worker);
  }
  return answer(worker);
}

runtime::step RangeTask::answer(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_scan);
  context.counters.count(counter::scan_items, state_->items);
  if (ReplyQueue* queue = context.replies->find(address_, seen(context))) {
    write_end(*queue);
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

void RangeTask::discard(runtime::Worker& worker) {
  release(worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeTask);

#include "server/store/range/range_delete_task.hpp"

#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

RangeDeleteTask::RangeDeleteTask(const runtime::TaskClass* task_class, ItemTree& tree,
                                 const protocol::RangeRequest& request, const RangeLimits& limits,
                                 RangeState& state, const ReplyAddress& address,
                                 std::uint64_t now_ns) noexcept
    : Base(task_class, tree), DividedWalk(state, address, limits.splitting) {
  MXKV_ASSERT(state.meta != nullptr, "mx comes with flags");
  limit(request, limits, now_ns);
  if (request.locked) {
    limit_whole(request, limits);
  }
  set_bounds(request);
}

RangeDeleteTask::RangeDeleteTask(const runtime::TaskClass* task_class, const RangeDeleteTask& whole,
                                 RangePartTask& part, runtime::Worker& worker)
    : Base(task_class, whole.tree()), DividedWalk(part, whole.address_, worker), counts_(whole.counts_) {}

void RangeDeleteTask::begin(RangeLock& lock, runtime::Worker& worker) {
  hold(lock, worker);
  note_start();
  counts_ = true;
  expect_division();
  start(worker);
}

verdict RangeDeleteTask::judge(std::uint64_t /*head*/, std::uint64_t value, RemovedOfLeaf& leaf,
                               runtime::Worker& worker) const noexcept {
  const Item& item = *ItemRecord::item(value);
  const bool beyond = is_beyond(item);
  leaf.divides = !beyond && is_to_divide();
  if (beyond || leaf.divides || is_futile()) {
    return verdict::stop;
  }
  if (is_skipped(item)) {
    return verdict::keep;
  }
  if (!Liveness{worker, state_->moment_us}(Item::View{item})) {
    return counts_ ? verdict::keep : verdict::erase;
  }
  const std::uint64_t removed = state_->items + leaf.live;
  if (!leaf.timed && state_->items > 0 && !holds()) {
    leaf.timed = true;
    leaf.late = worker.runtime().clock().monotonic_ns() > state_->deadline_ns;
  }
  if (removed >= state_->item_limit || leaf.late) {
    leaf.more = true;
    return verdict::stop;
  }
  ++leaf.live;
  leaf.last = holds() ? nullptr : &item;
  return counts_ ? verdict::keep : verdict::erase;
}

// An operation that holds its range is never refused. A page that was admitted to a slot is refused by other
// slots only.
bool RangeDeleteTask::refuses(std::uint64_t value, runtime::Worker& worker) noexcept {
  const RangeLocks& locks = *worker.local<WorkerContext>().locks;
  if (holds() || locks.gate.all_open()) [[likely]] {
    return false;
  }
  const std::uint32_t slot = locks.slots.slot_of(ItemRecord::item(value)->key());
  if (pass_.is_for(slot) || locks.gate.is_open(slot)) {
    return false;
  }
  refused_ = slot;
  return true;
}

step RangeDeleteTask::refused(runtime::Worker& worker) {
  MXKV_ASSERT(!holds() && !waiting_, "what holds its range is never refused");
  RangeLocks& locks = *worker.local<WorkerContext>().locks;
  pass_.leave(locks, worker);
  state_->keep_last();
  leave_tree(*this);
  waiting_ = true;
  worker.unpin(*this);
  return pass_.await(locks, refused_, *this) ? step::parked : step::again;
}

// With X the whole range has passed the commit point already.
index::Change RangeDeleteTask::erasing(ItemNode& leaf, std::uint64_t value,
                                       runtime::Worker& worker) noexcept {
  MXKV_DCHECK(!counts_, "nothing goes before all is counted");
  const Item* const item = ItemRecord::item(value);
  const std::uint64_t order = next_order(order_before(item, leaf), worker);
  if (holds()) {
    return index::Change::part(order);
  }
  const bool live = Liveness{worker, state_->moment_us}(Item::View{*item});
  return index::Change::gone(live ? index::cause::deleted : index::cause::expired, order);
}

void RangeDeleteTask::erased(std::uint64_t value, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  Item* const item = ItemRecord::item(value);
  if (context.watch->wants(watched::kDeletions) && is_live(*item, worker)) [[unlikely]] {
    context.watch->deleted(worker, item->key(), "mx", item->value_bytes(), descriptor_of(address_));
  }
  retire_item(worker, item);
}

void RangeDeleteTask::judged(const RemovedOfLeaf& leaf, runtime::Worker& worker) noexcept {
  pass_.leave(*worker.local<WorkerContext>().locks, worker);
  state_->items += leaf.live;
  state_->more = leaf.more;
  leaf_done(leaf.divides, worker);
  if (leaf.last != nullptr) {
    state_->last = leaf.last;
  }
}

step RangeDeleteTask::finished(runtime::Worker& worker) {
  MXKV_ASSERT(!pass_.held(), "a pass is given back with the leaf that it was for");
  MXKV_ASSERT(!counts_ || holds(), "only what holds its range counts it first");
  MXKV_ASSERT(state_->items <= state_->item_limit, "no more goes than may");
  if (is_part()) {
    return end_part(*this, state_->more, false, worker);
  }
  if (take_division()) {
    return divide(*this, worker);
  }
  if (counts_ && !state_->more) {
    pass_commit_point(worker);
    return rescan(worker);
  }
  if (worker.id().value() != address_.worker) {
    state_->keep_last();  // while the item still exists
    let_go(worker);
    return go_home(*this, address_);
  }
  return answer(worker);
}

void RangeDeleteTask::pass_commit_point(runtime::Worker& worker) {
  MXKV_ASSERT(counts_ && !state_->more && !is_part(), "the whole passes the commit point, once");
  counts_ = false;
  state_->items = 0;
  back_to_start();
  const index::ChangedRange<std::string_view> range = changed_range();
  const std::uint64_t through = worker.local<WorkerContext>().store->mint_through(worker);
  tree().commits().pass(
      {.change = index::Change::of(index::change::range_gone, through, index::cause::deleted),
       .moment_us = state_->moment_us,
       .range = &range},
      worker);
}

// --- In parts ---

void RangeDeleteTask::start_part(RangePartTask& part, runtime::Worker& worker) {
  worker.create<RangeDeleteTask>(*this, part, worker)->start(worker);
}

void RangeDeleteTask::undivided(runtime::Worker& worker) {
  drop_parts();
  start(worker);
}

void RangeDeleteTask::parts_ended(runtime::Worker& worker) {
  for (const RangePart& part : parts_->ended()) {
    state_->items += part.tally.items;
    state_->more = state_->more || part.too_many;
  }
  state_->more = state_->more || state_->items > state_->item_limit;
  worker.spawn(this);
}

step RangeDeleteTask::resume_item(runtime::Worker& worker) {
  if (std::exchange(waiting_, false)) {
    worker.pin(*this);
    return restart(false);
  }
  if (take_division()) {
    begin_parts(*this, worker);
    return step::parked;
  }
  if (parts_ != nullptr && counts_ && !state_->more) {
    pass_commit_point(worker);
    if (!parts_->start_again(key(), state_->skip_start, worker)) {
      undivided(worker);
    }
    return step::parked;
  }
  return answer(worker);
}

step RangeDeleteTask::answer(runtime::Worker& worker) {
  MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
  MXKV_ASSERT(!counts_ || state_->more, "what was only counted was too much");
  drop_parts();
  auto& context = worker.local<WorkerContext>();
  if (counts_) {
    return refuse(saw_change(context), protocol::kTooManyKeys, *this, worker);
  }
  context.counters.count(counter::cmd_range_delete);
  context.counters.count(counter::range_deleted_items, state_->items);
  if (ReplyQueue* queue = context.replies->find(address_, saw_change(context))) {
    if (state_->more || !state_->meta->quiet) {
      write_reply(*queue);
    }
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

// HD A<removed> [G<cursor>] [O<opaque>]
void RangeDeleteTask::write_reply(ReplyQueue& queue) {
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes + protocol::kMaxCursorBytes);
  out = protocol::write_number(protocol::write_text(out, "HD A"), state_->items);
  if (state_->more) {
    out = write_cursor(protocol::write_text(out, " G"));
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeDeleteTask);

#include "server/store/range/range_delete_task.hpp"

#include <utility>

#include "server/store/locks/range_locks.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

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
    return in_first_pass() ? verdict::keep : verdict::erase;
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
  return in_first_pass() ? verdict::keep : verdict::erase;
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
  MXKV_DCHECK(!in_first_pass(), "nothing goes before all is counted");
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
  (holds() ? state_->too_many : state_->more) = leaf.more;
  leaf_done(leaf.divides, worker);
  if (leaf.last != nullptr) {
    state_->last = leaf.last;
  }
}

step RangeDeleteTask::resume_item(runtime::Worker& worker) {
  if (std::exchange(waiting_, false)) {
    worker.pin(*this);
    return restart(false);
  }
  return RangeEdit::resume_item(worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeDeleteTask);

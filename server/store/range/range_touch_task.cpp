#include "server/store/range/range_touch_task.hpp"

#include "server/store/core/item_counts.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/upkeep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

void RangeTouchTask::held(runtime::Worker& worker) noexcept {
  expiry_ = expiry_from(exptime_, {state_->moment_us, worker.runtime().clock()});
}

verdict RangeTouchTask::judge(std::uint64_t /*head*/, std::uint64_t value, TouchedOfLeaf& leaf,
                              runtime::Worker& worker) const noexcept {
  const Item& item = *ItemRecord::item(value);
  if (is_beyond(item) || is_futile()) {
    return verdict::stop;
  }
  if (is_to_divide()) {
    leaf.divides = true;
    return verdict::stop;
  }
  if (is_skipped(item) || !Liveness{worker, state_->moment_us}(Item::View{item})) {
    return verdict::keep;
  }
  if (state_->items + leaf.live == state_->item_limit) {
    leaf.more = true;
    return verdict::stop;
  }
  ++leaf.live;
  if (in_first_pass()) {
    return expiry_ == 0 || item.has_expiry_field() ? verdict::keep : verdict::replace;
  }
  return item.has_expiry_field() ? verdict::change : verdict::keep;
}

std::uint64_t RangeTouchTask::replacement(std::uint64_t value, runtime::Worker& worker) noexcept {
  const Item& item = *ItemRecord::item(value);
  MXKV_DCHECK(in_first_pass() && !item.has_expiry_field(),
              "room is made once, and before exptimes are stored");
  Item* const copy = with_expiry(worker, item, item.expiry());
  return copy == nullptr ? 0 : ItemRecord::word(copy);
}

index::Change RangeTouchTask::replacing(ItemNode& /*leaf*/, std::uint64_t value, std::uint64_t by,
                                        runtime::Worker& /*worker*/) noexcept {
  ItemRecord::item(by)->take_version(*ItemRecord::item(value));
  return index::Change::unseen();
}

void RangeTouchTask::replaced(std::uint64_t value, std::uint64_t by, runtime::Worker& worker) {
  count_added(worker.local<WorkerContext>(), *ItemRecord::item(by));
  retire_item(worker, ItemRecord::item(value));
}

void RangeTouchTask::unmade(std::uint64_t by, runtime::Worker& worker) noexcept {
  Item::destroy(worker, ItemRecord::item(by));
}

// The whole range has passed the commit point already.
index::Change RangeTouchTask::changing(ItemNode& leaf, std::uint64_t value,
                                       runtime::Worker& worker) noexcept {
  MXKV_DCHECK(!in_first_pass(), "no exptime is stored before all have room");
  if (expiry_ != 0) {
    ExpirySweep::note(leaf, expiry_, worker);
  }
  return index::Change::part(next_order(order_before(ItemRecord::item(value), leaf), worker));
}

void RangeTouchTask::change_record(std::uint64_t value, runtime::Worker& /*worker*/) noexcept {
  ItemRecord::item(value)->store_expiry(expiry_);
}

void RangeTouchTask::changed(std::uint64_t value, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  if (context.watch->wants(watched::kMutations)) [[unlikely]] {
    const Item& item = *ItemRecord::item(value);
    context.watch->stored(worker, item.key(), "stored", "mt", expiry_, item.value_bytes(),
                          descriptor_of(address_));
  }
}

void RangeTouchTask::judged(const TouchedOfLeaf& leaf, runtime::Worker& worker) noexcept {
  state_->items += leaf.live;
  state_->too_many = leaf.more;
  leaf_done(leaf.divides, worker);
}

step RangeTouchTask::out_of_memory(runtime::Worker& worker) {
  MXKV_ASSERT(in_first_pass(), "what has begun to store exptimes needs no memory");
  if (worker.local<WorkerContext>().upkeep->makes_room(worker, shortage::block, room_wait_)) {
    worker.repin(*this);  // memory that is freed meanwhile does not wait for this pin
    aim_at_root();
    return step::later;
  }
  no_memory_ = true;
  worker.local<WorkerContext>().count_no_memory();
  return finished(worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeTouchTask);

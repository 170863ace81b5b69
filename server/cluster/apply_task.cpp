#include "server/cluster/apply_task.hpp"

#include <optional>
#include <utility>

#include "server/cluster/apply_lane.hpp"
#include "server/durability/record_effect.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"

namespace mxkv::server {

using index::Decision;
using runtime::step;

Decision ApplyTask::decide(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  const Item* const old = found ? ItemRecord::item(old_word) : nullptr;
  MXKV_ASSERT(order_ != 0, "a change has a place in the order of its key");
  const RecordedChange change{.type = what_, .order = order_, .expiry = expiry_};
  switch (
      effect_of(change, found ? std::optional{RecordedItem{old->order(), old->expiry()}} : std::nullopt)) {
    [[likely]] case record_effect::put:
      return {Decision::what::put, ItemRecord::word(item_)};
    case record_effect::erase:
      return {Decision::what::remove, 0};
    case record_effect::expire:
      return touch(*old, worker);
    case record_effect::access:  // a replica counts its own reads
    case record_effect::none:
      break;
  }
  return {};
}

Decision ApplyTask::touch(const Item& old, runtime::Worker& worker) {
  drop_item(worker);
  if (old.has_expiry_field()) {
    return {Decision::what::in_place, 0};
  }
  if (expiry_ == 0) {
    return {};
  }
  item_ = with_expiry(worker, old, expiry_);
  lacks_memory_ = item_ == nullptr;
  return lacks_memory_ ? Decision{} : Decision{Decision::what::put, ItemRecord::word(item_)};
}

// Under the leaf's latch. The change passes the commit point right behind this.
index::Change ApplyTask::commit(ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t value,
                                runtime::Worker& worker) noexcept {
  MXKV_ASSERT(!found || ItemRecord::item(old)->order() <= order_, "the orders of a key never go back");
  worker.local<WorkerContext>().applies = true;
  switch (what_) {
    case record_type::gone:
      return index::Change::gone(index::cause::deleted, order_);
    case record_type::touch: {
      const Item& item = *ItemRecord::item(old);
      if (expiry_ != 0) {
        ExpirySweep::note(leaf, expiry_, worker);
      }
      if (item_ != nullptr) {
        item_->take_version(item);
      }
      return index::Change::touched(order_, expiry_, item.marks());
    }
    default:
      MXKV_ASSERT(item_ != nullptr && item_->order() == order_, "an item keeps the order of its record");
      if (found) {
        item_->keep_reads(*ItemRecord::item(old));
      }
      if (const std::uint32_t expiry = ItemRecord::item(value)->expiry(); expiry != 0) {
        ExpirySweep::note(leaf, expiry, worker);
      }
      return index::Change::put(order_);
  }
}

void ApplyTask::change_record(std::uint64_t word, runtime::Worker& /*worker*/) noexcept {
  ItemRecord::item(word)->store_expiry(expiry_);
}

step ApplyTask::committed(bool found, std::uint64_t old, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.applies = false;
  const bool added = item_ != nullptr;
  if (added) {
    count_added(context, *std::exchange(item_, nullptr));
  }
  if (found && (added || what_ == record_type::gone)) {
    retire_item(worker, ItemRecord::item(old));
  }
  return ended(worker);
}

step ApplyTask::left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
  return lacks_memory_ ? out_of_memory(worker) : ended(worker);
}

// Applying a log does not evict, because the log has those items: the task waits for memory that is being
// freed. After kApplyPatienceNs the shard fails.
step ApplyTask::out_of_memory(runtime::Worker& worker) {
  const std::uint64_t now_ns = worker.now_ns();
  if (short_since_ns_ == 0) {
    short_since_ns_ = now_ns;
  }
  if (now_ns - short_since_ns_ >= kApplyPatienceNs || stage_.is_void.load(std::memory_order_acquire)) {
    if (lane_.lacks_memory(stage_)) {
      return ended(worker);
    }
    short_since_ns_ = 0;
  }
  lacks_memory_ = false;
  worker.repin(*this);
  aim_at_root();
  return step::later;
}

void ApplyTask::drop_item(runtime::Worker& worker) noexcept {
  if (item_ != nullptr) {
    Item::destroy(worker, std::exchange(item_, nullptr));
  }
}

step ApplyTask::ended(runtime::Worker& worker) {
  drop_item(worker);
  lane_.task_ended(worker);
  return step::done;
}

}  // namespace mxkv::server

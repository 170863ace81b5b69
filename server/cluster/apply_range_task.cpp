#include "server/cluster/apply_range_task.hpp"

#include "server/cluster/apply_task.hpp"
#include "server/cluster/shard_memory.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/store.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

namespace {

/// Converts a change's times from the wall clock to steady time.
void make_steady(RecordedChange& change, std::int64_t wall_ahead_s) noexcept {
  constexpr auto kMicroseconds = static_cast<std::int64_t>(kUsPerSecond);
  change.moment_us =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(change.moment_us) - wall_ahead_s * kMicroseconds);
  change.expiry = steady_expiry(change.expiry, wall_ahead_s);
}

}  // namespace

ApplyRangeTask::ApplyRangeTask(const runtime::TaskClass* task_class, ItemTree& tree, ShardMemory& memory,
                               ApplyStage& stage) noexcept
    : Base(task_class, tree), memory_(memory), stage_(stage) {
  annotate(runtime::priority::low);
  key_.set(stage.range->what.bounds.from);
}

verdict ApplyRangeTask::judge(std::uint64_t /*head*/, std::uint64_t value, AppliedOfLeaf& /*leaf*/,
                              runtime::Worker& /*worker*/) const noexcept {
  const Item& item = *ItemRecord::item(value);
  const ApplyRange& range = *stage_.range;
  const std::string_view key = item.key();
  if (range.what.ends_before(key)) {
    return verdict::stop;
  }
  if (range.drops) {
    return verdict::erase;
  }
  if (range.what.begins_after(key)) {
    return verdict::keep;
  }
  const RecordedItem found{item.order(), item.expiry()};
  switch (effect_of(operation(), found)) {
    case record_effect::erase:
      return verdict::erase;
    case record_effect::expire:
      if (found.expiry == operation().expiry) {
        return verdict::keep;
      }
      return item.has_expiry_field() ? verdict::change : verdict::replace;
    default:
      return verdict::keep;
  }
}

// Runs under the latch, as all functions that state a change.
index::Change ApplyRangeTask::erasing(ItemNode& /*leaf*/, std::uint64_t /*value*/,
                                      runtime::Worker& worker) const noexcept {
  worker.local<WorkerContext>().applies = true;
  return change();
}

void ApplyRangeTask::erased(std::uint64_t value, runtime::Worker& worker) {
  retire_item(worker, ItemRecord::item(value));
}

std::uint64_t ApplyRangeTask::replacement(std::uint64_t value, runtime::Worker& worker) const noexcept {
  Item* const copy = with_expiry(worker, *ItemRecord::item(value), operation().expiry);
  return copy == nullptr ? 0 : ItemRecord::word(copy);
}

index::Change ApplyRangeTask::touching(ItemNode& leaf, runtime::Worker& worker) const noexcept {
  worker.local<WorkerContext>().applies = true;
  if (operation().expiry != 0) {
    ExpirySweep::note(leaf, operation().expiry, worker);
  }
  return change();
}

index::Change ApplyRangeTask::replacing(ItemNode& leaf, std::uint64_t value, std::uint64_t by,
                                        runtime::Worker& worker) const noexcept {
  ItemRecord::item(by)->take_version(*ItemRecord::item(value));
  return touching(leaf, worker);
}

void ApplyRangeTask::replaced(std::uint64_t value, std::uint64_t by, runtime::Worker& worker) {
  count_added(worker.local<WorkerContext>(), *ItemRecord::item(by));
  retire_item(worker, ItemRecord::item(value));
}

void ApplyRangeTask::unmade(std::uint64_t by, runtime::Worker& worker) noexcept {
  Item::destroy(worker, ItemRecord::item(by));
}

index::Change ApplyRangeTask::changing(ItemNode& leaf, std::uint64_t /*value*/,
                                       runtime::Worker& worker) const noexcept {
  return touching(leaf, worker);
}

void ApplyRangeTask::change_record(std::uint64_t value, runtime::Worker& /*worker*/) const noexcept {
  ItemRecord::item(value)->store_expiry(operation().expiry);
}

void ApplyRangeTask::judged(const AppliedOfLeaf& /*leaf*/, runtime::Worker& worker) noexcept {
  worker.local<WorkerContext>().applies = false;
  short_since_ns_ = 0;
}

step ApplyRangeTask::out_of_memory(runtime::Worker& worker) {
  const std::uint64_t now_ns = worker.now_ns();
  if (short_since_ns_ == 0) {
    short_since_ns_ = now_ns;
  }
  if (now_ns - short_since_ns_ >= kApplyPatienceNs || stage_.is_void.load(std::memory_order_acquire)) {
    if (memory_.lacks_memory(stage_)) {
      return finished(worker);
    }
    short_since_ns_ = 0;
  }
  worker.repin(*this);  // let memory that others free meanwhile be reclaimed
  aim_at_root();
  return step::later;
}

step ApplyRangeTask::finished(runtime::Worker& worker) {
  MXKV_ASSERT(stage_.left == 1, "a range runs alone");
  worker.unpin(*this);
  memory_.part_ended(stage_);
  return step::done;
}

step BeginApplyRangeTask::execute(runtime::Worker& worker) {
  MXKV_ASSERT(stage_.range->drops || stage_.range->what.change.order != 0,
              "an operation on a range has a place in the order of its keys");
  make_steady(stage_.range->what.change, worker.runtime().clock().wall_ahead_s());
  worker.create<ApplyRangeTask>(memory_.store().tree(), memory_, stage_)->start(worker);
  return step::done;
}

}  // namespace mxkv::server

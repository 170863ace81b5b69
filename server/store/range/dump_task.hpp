// One page of a dump of all keys, in key order: lines as memcached writes them. It bumps no item and reads no
// value.
#pragma once

#include "server/store/core/store_task.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/range/range_state.hpp"

namespace mxkv::server {

class DumpTask final : public index::ScanTask<DumpTask, ItemTraits> {
  using Base = index::ScanTask<DumpTask, ItemTraits>;

 public:
  static constexpr const char* kName = "dump";
  /// A page made beside others may have at most so many times the leaves of a part of another range.
  static constexpr std::uint32_t kMostLeavesOfParts = 8;

  /// Starts a page here. `how`: later pages may be made side by side. Then this first page ends at the number
  /// of leaves where other ranges are divided.
  static void begin(ItemTree& tree, DumpProgress& progress, const ReplyAddress& address,
                    const RangeSplitting& how, runtime::Worker& worker);

  // --- For ScanTask ---
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] static bool backward() noexcept { return false; }
  class Leaf;
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& worker) noexcept;
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  friend class runtime::Worker;  // makes it
  DumpTask(const runtime::TaskClass* task_class, ItemTree& tree, DumpProgress& progress,
           std::int64_t wall_ahead_s, const ReplyAddress& address, const RangeSplitting& how) noexcept
      : Base(task_class, tree),
        progress_(&progress),
        wall_ahead_s_(wall_ahead_s),
        address_(address),
        how_(how),
        most_leaves_(how.parts_a_worker > 0 && progress.leaves_a_page() == 0 ? how.leaves_alone : ~0U) {
    set_key(progress.from());
  }

  DumpProgress* progress_;
  std::int64_t wall_ahead_s_;
  ReplyAddress address_;
  RangeSplitting how_;
  std::uint32_t most_leaves_;
  std::uint32_t leaves_ = 0;  ///< seen
  std::uint32_t bytes_ = 0;   ///< written
  SeenOrder seen_;
  HeldKey key_;  ///< where the dump goes on
};

static_assert(sizeof(DumpTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

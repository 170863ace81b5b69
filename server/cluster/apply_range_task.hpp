// Executes a log's operation on a range: removes its items, or changes their expiry. It sends no reply and
// takes no lock: the stages (apply_stage.hpp) keep it apart from the records of the range's keys.
//
// It goes leaf by leaf, with lower priority than the worker's other tasks, so that each turn is short.
#pragma once

#include <cstdint>

#include "index/edit_task.hpp"
#include "server/cluster/apply_stage.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class ShardMemory;

/// Nothing is collected from the items of a leaf.
struct AppliedOfLeaf {};

class ApplyRangeTask final
    : public index::EditTask<ApplyRangeTask, ItemTraits, AppliedOfLeaf, /*Replaces=*/true> {
  using Base = index::EditTask<ApplyRangeTask, ItemTraits, AppliedOfLeaf, true>;

 public:
  static constexpr const char* kName = "apply range";

  /// The times of the stage's range are steady.
  ApplyRangeTask(const runtime::TaskClass* task_class, ItemTree& tree, ShardMemory& memory,
                 ApplyStage& stage) noexcept;

  // --- For EditTask ---
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  index::verdict judge(std::uint64_t head, std::uint64_t value, AppliedOfLeaf& leaf,
                       runtime::Worker& worker) const noexcept;
  index::Change erasing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) const noexcept;
  void erased(std::uint64_t value, runtime::Worker& worker);
  [[nodiscard]] std::uint64_t replacement(std::uint64_t value, runtime::Worker& worker) const noexcept;
  index::Change replacing(ItemNode& leaf, std::uint64_t value, std::uint64_t by,
                          runtime::Worker& worker) const noexcept;
  void replaced(std::uint64_t value, std::uint64_t by, runtime::Worker& worker);
  void unmade(std::uint64_t by, runtime::Worker& worker) noexcept;
  index::Change changing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) const noexcept;
  void change_record(std::uint64_t value, runtime::Worker& worker) const noexcept;
  void judged(const AppliedOfLeaf& leaf, runtime::Worker& worker) noexcept;
  runtime::step out_of_memory(runtime::Worker& worker);
  runtime::step finished(runtime::Worker& worker);

 private:
  /// The change for an item that gets a new expiry.
  index::Change touching(ItemNode& leaf, runtime::Worker& worker) const noexcept;
  [[nodiscard]] index::Change change() const noexcept {
    return index::Change::part(operation().order);  // the log has the whole operation as one record
  }

  [[nodiscard]] const RecordedChange& operation() const noexcept { return stage_.range->what.change; }

  ShardMemory& memory_;
  ApplyStage& stage_;
  std::uint64_t short_since_ns_ = 0;  ///< 0: no shortage of memory
  HeldKey key_;
};

static_assert(sizeof(ApplyRangeTask) <= runtime::kLargestTaskBytes);

/// Converts the range's times to the worker's steady time, and starts an ApplyRangeTask.
class BeginApplyRangeTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "apply range begins";

  BeginApplyRangeTask(const runtime::TaskClass* task_class, ShardMemory& memory, ApplyStage& stage,
                      runtime::WorkerId at) noexcept
      : MxTask(task_class), memory_(memory), stage_(stage) {
    annotate(runtime::priority::low);
    annotate(at);
  }
  runtime::step execute(runtime::Worker& worker);

 private:
  ShardMemory& memory_;
  ApplyStage& stage_;
};

}  // namespace mxkv::server

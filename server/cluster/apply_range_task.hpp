// Does to a range what a log says: removes its items, or lets them live until another second. Nobody is answered and
// nothing is held: what a log says of the range's keys comes before or behind it (apply_stage.hpp).
//
// It goes leaf by leaf, behind the worker's other tasks, so that no turn of it is long.
#pragma once

#include <cstdint>

#include "index/edit_task.hpp"
#include "server/cluster/apply_stage.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class ShardMemory;

/// A leaf's items say nothing of those of others.
struct AppliedOfLeaf {};

class ApplyRangeTask final
    : public index::EditTask<ApplyRangeTask, ItemTraits, AppliedOfLeaf, /*Replaces=*/true> {
  using Base = index::EditTask<ApplyRangeTask, ItemTraits, AppliedOfLeaf, true>;

 public:
  static constexpr const char* kName = "apply range";

  ApplyRangeTask(const runtime::TaskClass* task_class, ItemTree& tree, ShardMemory& memory, ApplyStage& stage,
                 std::int64_t wall_ahead_s) noexcept;

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
  /// Of an item that lives until another second from now on.
  index::Change touching(ItemNode& leaf, runtime::Worker& worker) const noexcept;
  [[nodiscard]] index::Change change() const noexcept {
    return index::Change::part(stage_.range->what.order);  // the log's record is the whole
  }

  ShardMemory& memory_;
  ApplyStage& stage_;
  std::uint64_t moment_us_;           ///< steady
  std::uint64_t short_since_ns_ = 0;  ///< 0: it has found memory so far
  std::uint32_t expiry_;              ///< steady
  HeldKey key_;
};

static_assert(sizeof(ApplyRangeTask) <= runtime::kLargestTaskBytes);

/// Begins one on a worker.
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

// A worker's share of the logs' records: the worker applies them in the order of the log, several keys at a
// time.
//
// A batch of up to kTogether tasks starts on the tree, and the next batch starts when all of them have ended:
// while one task waits for cache lines the others run. No two tasks of a batch have the same key, so each
// key's records are applied in order. All this has lower priority than the worker's other tasks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "runtime/scheduler/worker.hpp"
#include "server/cluster/apply_stage.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::server {

class ApplyTask;
class ShardMemory;

/// Thread-safety: given per function.
class ApplyLane {
 public:
  ApplyLane(ShardMemory& memory, std::uint32_t number) noexcept : memory_(memory), number_(number) {}
  ApplyLane(const ApplyLane&) = delete;
  ApplyLane& operator=(const ApplyLane&) = delete;

  // -- under the memory's mutex

  /// Adds a stage that has entries of this lane. Returns true if the caller must start a task for turn().
  [[nodiscard]] bool add(ApplyStage& stage) {
    coming_.push_back(&stage);
    return !std::exchange(runs_, true);
  }
  /// Moves the stages that have arrived to the lane's task. False: there are none, and the task ends.
  [[nodiscard]] bool take() {
    parts_.insert(parts_.end(), coming_.begin(), coming_.end());
    coming_.clear();
    runs_ = !parts_.empty();
    return runs_;
  }

  // -- the lane's task, on the lane's worker

  runtime::step turn(runtime::MxTask& task, runtime::Worker& worker);

  // -- the tasks on the tree, on any worker

  void task_ended(runtime::Worker& worker) noexcept;
  [[nodiscard]] bool lacks_memory(ApplyStage& stage);

 private:
  static constexpr std::uint32_t kTogether = 64;
  static constexpr std::uint32_t kStamps = 2048;
  using Tasks = std::array<ApplyTask*, kTogether>;

  /// Makes tasks of the next entries, as long as their keys differ. Returns the number of tasks.
  [[nodiscard]] std::uint32_t gather(Tasks& tasks, runtime::Worker& worker);
  /// Null: out of memory.
  [[nodiscard]] ApplyTask* make_task(ApplyStage& stage, const BodyEntry& entry, std::string_view key,
                                     runtime::Worker& worker, std::int64_t wall_ahead_s);
  [[nodiscard]] bool has_next();
  void advance();
  /// Ends this lane's part of the first stage.
  void end_first();
  /// Skips the void stages that have arrived.
  void skip_void();
  /// Claims the key for the present batch. Returns false if another task of the batch may have that key.
  [[nodiscard]] bool claim(std::string_view key) noexcept;
  runtime::step wait_for_memory(runtime::Worker& worker);

  ShardMemory& memory_;
  const std::uint32_t number_;
  std::vector<ApplyStage*> coming_;
  bool runs_ = false;

  std::deque<ApplyStage*> parts_;  ///< the first stage has entries from next_ on
  std::size_t next_ = 0;
  std::vector<ApplyStage*> ended_;   ///< stages whose last entries are in flight
  std::uint64_t failures_seen_ = 0;  ///< of the memory: no stage that arrived before is void
  runtime::MxTask* task_ = nullptr;
  std::uint64_t short_since_ns_ = 0;  ///< 0: no shortage of memory
  std::uint32_t stamp_ = 0;
  std::array<std::uint32_t, kStamps> stamps_{};  ///< by the key's hash: the batch that claimed it last
  // Hands over the tasks' effects: each task releases, the last one acquires.
  std::atomic<std::uint32_t> in_flight_{0};
};

/// Runs a lane.
class ApplyLaneTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "apply log";

  ApplyLaneTask(const runtime::TaskClass* task_class, ApplyLane& lane, runtime::WorkerId at) noexcept
      : MxTask(task_class), lane_(lane) {
    annotate(runtime::priority::low);
    annotate(at);
  }
  runtime::step execute(runtime::Worker& worker) { return lane_.turn(*this, worker); }

 private:
  ApplyLane& lane_;
};

}  // namespace mxkv::server

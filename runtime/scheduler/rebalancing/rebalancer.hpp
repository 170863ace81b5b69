// The rebalancer looks at the loads once a period. It sends tasks that move pools and objects to where there
// is less to do [MK 3, 5]. What to move is decided in rebalance.hpp, moving is in moves.cpp.
//
// Whichever worker first finds that a period is over does the work, between two batches, so there is no
// thread and an idle runtime sleeps. Loads are averaged over the last periods, and a moved pool rests for
// a few.
//
// A hot object is known by its address alone, and may be gone by the time of the decision. So it is moved
// when its pool's holder next takes a task of it. Then it is alive, and the move runs right before that task.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/options.hpp"
#include "runtime/scheduler/rebalancing/object_heat.hpp"
#include "runtime/scheduler/rebalancing/rebalance.hpp"

namespace mxkv::runtime {

class Runtime;
class Worker;

class Rebalancer {
 public:
  /// `runtime` has its options, with a strategy, and knows its number of pools.
  explicit Rebalancer(Runtime& runtime);

  /// Looks at the clock, and at the loads if a period is over. Any worker, outside of tasks.
  void tick(Worker& worker, std::uint64_t now_ns) {
    if (now_ns >= due_ns_.load(std::memory_order_relaxed)) [[unlikely]] {
      rebalance(worker, now_ns);
    }
  }

  /// Where a worker counts its tasks' objects; null unless the strategy asks for it. Start-up only.
  [[nodiscard]] ObjectHeat* heat(WorkerId worker) noexcept {
    return heats_.empty() ? nullptr : &heats_[worker.index()];
  }
  /// The pool that an object of pool `from` is to go to; of several callers one gets it. Any worker.
  [[nodiscard]] std::optional<PoolId> claim(const DataObject* object, PoolId from) noexcept;

 private:
  static constexpr std::size_t kWanted = 4;

  /// A move of an object that waits for a task of it.
  struct Wanted {
    std::atomic<const DataObject*> object{nullptr};
    std::atomic<std::uint32_t> move{0};  ///< from pool << 16 | to pool
  };

  void rebalance(Worker& worker, std::uint64_t now_ns);
  void measure(std::uint64_t elapsed_ns);
  /// Says which pools thieves leave alone.
  void keep_pools();
  void move_pools(Worker& worker, const std::vector<PoolMove>& moves);
  void move_objects(const std::vector<ObjectMove>& moves) noexcept;
  void forget_objects() noexcept;
  [[nodiscard]] std::vector<ObjectLoad> hot_objects(std::uint64_t elapsed_ns) const;

  Runtime& runtime_;
  const RebalanceOptions options_;
  std::deque<ObjectHeat> heats_;  ///< by WorkerId
  std::array<Wanted, kWanted> wanted_;
  std::atomic<std::uint64_t> due_ns_{0};
  std::atomic<bool> busy_{false};  ///< a worker is at it; guards the members below
  bool counting_ = false;          ///< from the first look on
  std::uint64_t last_ns_ = 0;
  std::uint32_t sampled_periods_ = 0;         ///< since samples of objects were forgotten
  std::uint64_t sampled_ns_ = 0;              ///< the same in time
  std::uint32_t quiet_periods_ = 0;           ///< periods without moves that are left
  std::vector<WorkerLoad> workers_;           ///< averages
  std::vector<PoolLoad> pools_;               ///< averages
  std::vector<std::uint64_t> workers_fixed_;  ///< counters at the last look
  std::vector<std::uint64_t> pools_taken_;    ///< counters at the last look
  std::vector<std::uint32_t> pools_rest_;     ///< periods that it stays for
};

}  // namespace mxkv::runtime

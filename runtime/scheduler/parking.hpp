// The flag by which a worker says that it is about to block, and by which spawners learn that they must wake
// it.
//
//   worker:   flag = parked;   look for work;   block only if there is none
//   spawner:  publish work;    look at the flag; wake only if it is parked
//
// All four are seq_cst: of the two looks at least one sees the other side's store, so no wake-up is lost. The
// work is the word of a task pool (pool/task_pool.hpp), which is seq_cst for the same reason.
//
// A spawner that wakes a worker takes its flag down first (claim), so that only one of many spawners pays for the
// wake-up. The worker may then go on without having been woken yet, and even park again. The wake-up that is
// on its way ends that parking too, for nothing.
//
// A pool of a worker that is busy may be stolen, so its spawner wakes a parked thief. It looks at a counter
// of parked workers before it looks at their flags; the counter goes up before the flag and down after it, so
// zero means that a worker that parks from then on sees the pool.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/pool/mpsc_queue.hpp"

namespace mxkv::runtime {

/// A worker's state, as it announces it. The worker alone sets `parked`; the thread that exchanges it first
/// sets `awake`.
enum class worker_state : std::uint8_t { awake, parked };

template <StepSchedule Schedule = FreeRunning>
class BasicParkingFlag {
 public:
  /// `parked_workers` counts the flags that are up, of all workers.
  explicit BasicParkingFlag(std::atomic<std::uint32_t>& parked_workers) noexcept
      : parked_workers_(parked_workers) {}

  /// Says "parked", then asks `anything_there()`. False: something is there, the flag is down again and the
  /// worker must not block. Owner worker only.
  template <std::predicate Look>
  [[nodiscard]] bool try_park(const Look& anything_there) noexcept {
    MXKV_ASSERT(state_.load(std::memory_order_relaxed) == worker_state::awake, "a worker parks once");
    parked_workers_.fetch_add(1, std::memory_order_seq_cst);  // pairs with Runtime::parked_workers()
    Schedule::point();
    state_.store(worker_state::parked, std::memory_order_seq_cst);  // pairs with parked()
    Schedule::point();
    if (anything_there()) {
      unpark();
      return false;
    }
    return true;
  }
  /// After blocking: takes the flag down unless a spawner claimed it. Owner worker only.
  void unpark() noexcept { static_cast<void>(claim()); }

  /// Takes the flag down. True: it was up, and the caller, if it is not the owner, must wake the worker. Any
  /// thread.
  [[nodiscard]] bool claim() noexcept {
    if (!says_parked(std::memory_order_relaxed) ||
        state_.exchange(worker_state::awake, std::memory_order_seq_cst) == worker_state::awake) {
      return false;
    }
    const std::uint32_t parked_before = parked_workers_.fetch_sub(1, std::memory_order_relaxed);
    MXKV_ASSERT(parked_before > 0, "a flag that is up was counted");
    return true;
  }

  /// Whether the worker must be woken. A spawner asks after it made a pool ready. Any thread.
  [[nodiscard]] bool parked() const noexcept {
    return says_parked(std::memory_order_seq_cst);  // pairs with try_park()
  }

 private:
  [[nodiscard]] bool says_parked(std::memory_order order) const noexcept {
    return state_.load(order) == worker_state::parked;
  }

  std::atomic<worker_state> state_{worker_state::awake};
  std::atomic<std::uint32_t>& parked_workers_;
};

using ParkingFlag = BasicParkingFlag<>;

}  // namespace mxkv::runtime

// The flag by which a worker says that it is about to block, and by which spawners learn that they must wake
// it.
//
//   worker:   flag = parked;   look for work;   block only if there is none
//   spawner:  publish work;    look at the flag; wake only if it is parked
//
// All four are seq_cst: of the two looks at least one sees the other side's store, so no wake-up is lost. The
// work is the word of a task pool (pool/task_pool.hpp), which is seq_cst for the same reason.
#pragma once

#include <atomic>

#include "runtime/pool/mpsc_queue.hpp"

namespace mxkv::runtime {

template <class Schedule = FreeRunning>
class BasicParkingFlag {
 public:
  /// Says "parked", then asks `anything_there()`. False: something is there, the flag is down again and the
  /// worker must not block. Owner worker only.
  template <class Look>
  [[nodiscard]] bool try_park(const Look& anything_there) noexcept {
    parked_.store(true, std::memory_order_seq_cst);  // pairs with parked()
    Schedule::point();
    if (anything_there()) {
      unpark();
      return false;
    }
    return true;
  }
  /// After blocking. Relaxed: who still sees the flag sends one wake-up too many. Owner worker only.
  void unpark() noexcept { parked_.store(false, std::memory_order_relaxed); }

  /// Whether the worker must be woken. A spawner asks after it made a pool ready. Any thread.
  [[nodiscard]] bool parked() const noexcept {
    return parked_.load(std::memory_order_seq_cst);  // pairs with try_park()
  }

 private:
  std::atomic<bool> parked_{false};
};

using ParkingFlag = BasicParkingFlag<>;

}  // namespace mxkv::runtime

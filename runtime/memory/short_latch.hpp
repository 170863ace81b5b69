// A spin latch for the slow paths of the allocators. It is held for tens of nanoseconds, once per batch of
// task blocks or per 64 KiB span. It yields when the holder seems preempted. Not for data objects: those use
// the primitives of synchronization/, which are bounded and requeue.
#pragma once

#include <atomic>
#include <thread>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::runtime::detail {

/// BasicLockable. Thread-safety: any thread.
class ShortLatch {
 public:
  void lock() noexcept {
    for (unsigned round = 0;; ++round) {
      // pairs with the release in unlock()
      if (!held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire)) {
        return;
      }
      if (round < kSpinsBeforeYield) {
        cpu_relax();
      } else {
        std::this_thread::yield();
      }
    }
  }
  void unlock() noexcept {
    MXKV_DCHECK(held_.load(std::memory_order_relaxed), "only a held latch is released");
    held_.store(false, std::memory_order_release);
  }  // pairs with the acquire in lock()

 private:
  static constexpr unsigned kSpinsBeforeYield = 128;
  std::atomic<bool> held_{false};
};

}  // namespace mxkv::runtime::detail

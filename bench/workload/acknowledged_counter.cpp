#include "bench/workload/acknowledged_counter.hpp"

#include "runtime/base/assert.hpp"

namespace mxkv::bench {

void AcknowledgedCounter::acknowledge(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::uint64_t end = end_.load(std::memory_order_relaxed);
  MXKV_ASSERT(number >= end && number - end < kWindow, "an insert is acknowledged once, within the window");
  acknowledged_[number % kWindow] = true;
  while (acknowledged_[end % kWindow]) {
    acknowledged_[end % kWindow] = false;
    ++end;
  }
  end_.store(end, std::memory_order_release);
}

}  // namespace mxkv::bench

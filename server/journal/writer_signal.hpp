// The writer sleeps on this: a flag that any thread raises, and a time.
//
// raise() and sleep() meet in one word, so no signal is lost: a flag raised before the sleep ends it at once,
// a later one wakes it. If the writer is awake, raise() is one exchange, without a system call.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mxkv::server {

class WriterSignal {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  /// The next sleep() to end makes the caller's earlier stores visible. Any thread.
  void raise() noexcept {
    // acq_rel: releases the caller's earlier stores; a chain of exchanges keeps earlier releases.
    if (word_.exchange(kRaised, std::memory_order_acq_rel) == kAsleep) {
      const std::lock_guard lock(mutex_);  // the sleeper waits, or has yet to look and will
      wake_.notify_one();
    }
  }

  /// Sleeps until the flag is up, or for `most_ns`; takes the flag down. One thread.
  void sleep(std::uint64_t most_ns) {
    std::uint32_t awake = kAwake;
    // Acquire, pairs with raise().
    if (word_.compare_exchange_strong(awake, kAsleep, std::memory_order_acq_rel, std::memory_order_acquire)) {
      std::unique_lock lock(mutex_);
      const auto raised = [this] { return word_.load(std::memory_order_acquire) == kRaised; };
      if (most_ns == kNoLimit) {
        wake_.wait(lock, raised);
      } else {
        wake_.wait_for(lock, std::chrono::nanoseconds(most_ns), raised);
      }
    }
    word_.exchange(kAwake, std::memory_order_acq_rel);
  }

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kRaised = 2;

  std::atomic<std::uint32_t> word_{kAwake};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace mxkv::server

// How long a worker had nothing to do: from its first empty round to its next busy one, asleep or not.
//
// So a worker that looks a few more times before it sleeps is as idle as a worker that sleeps at once. Others see
// the time that goes on, too: they need not wake a worker to learn that it sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only, unless a function says otherwise. Times are a round's, in nanoseconds.
class IdleClock {
 public:
  [[nodiscard]] bool runs() const noexcept { return runs_; }
  /// A round that began at `now_ns` found nothing. More of them change nothing.
  void start(std::uint64_t now_ns) noexcept {
    if (!runs_) {
      runs_ = true;
      since_ns_.store(now_ns, std::memory_order_relaxed);
    }
  }
  /// A round that began at `now_ns` found something. Only while it runs.
  void stop(std::uint64_t now_ns) noexcept {
    MXKV_DCHECK(runs_, "idle time ends once");
    runs_ = false;
    const std::uint64_t since_ns = since_ns_.exchange(kNever, std::memory_order_relaxed);
    const std::uint64_t passed_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    sum_ns_.store(sum_ns_.load(std::memory_order_relaxed) + passed_ns, std::memory_order_relaxed);
  }
  /// All idle time up to `now_ns`. Any thread. Beside stop() it may miss the last stretch, or count it twice:
  /// a caller that compares two sums bounds the difference by the time in between.
  [[nodiscard]] std::uint64_t sum_ns(std::uint64_t now_ns) const noexcept {
    const std::uint64_t since_ns = since_ns_.load(std::memory_order_relaxed);
    const std::uint64_t sum_ns = sum_ns_.load(std::memory_order_relaxed);
    return sum_ns + (since_ns < now_ns ? now_ns - since_ns : 0);
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  bool runs_ = false;
  std::atomic<std::uint64_t> since_ns_{kNever};  // relaxed, as the next: a measure, nothing is ordered by it
  std::atomic<std::uint64_t> sum_ns_{0};
};

}  // namespace mxkv::runtime

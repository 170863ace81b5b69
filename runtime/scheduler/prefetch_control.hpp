// How a worker prefetches now: as its options ask, or as a tuner chose where they leave it open.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>

#include "runtime/base/assert.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/options.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/scheduler/prefetch_tuner.hpp"

namespace mxkv::runtime {

/// How a worker prefetches now.
struct PrefetchInForce {
  prefetch_mode mode = prefetch_mode::off;  ///< never prefetch_mode::tuned
  bool tuned = false;                       ///< whether a tuner chose it
  std::uint32_t distance = 0;               ///< for prefetch_mode::distance
};

/// Thread-safety: owner worker only, but in_force().
class PrefetchControl {
 public:
  /// Has the buffer prefetch as `options` say. Tuning begins anew.
  void set(const PrefetchOptions& options, PrefetchBuffer& buffer);
  [[nodiscard]] bool tunes() const noexcept { return tuner_ != nullptr; }
  /// The setting in force, be it set or tuned. Any thread.
  [[nodiscard]] PrefetchInForce in_force() const noexcept {
    return in_force_.load(std::memory_order_relaxed);
  }
  /// Calls run(), which returns how many tasks it ran, and tells the tuner their cost.
  template <std::invocable Run>
  void observe(PrefetchBuffer& buffer, const Clock& clock, const Run& run) noexcept {
    MXKV_DCHECK(tunes(), "only a tuner observes");
    if (!tuner_->wants_time()) {
      tuner_->add_untimed(run());
      return;
    }
    const std::uint64_t start_ns = clock.monotonic_ns();
    const std::uint64_t tasks = run();
    if (tuner_->add(tasks, clock.monotonic_ns() - start_ns)) {
      put_in_force(tuner_->setting(), buffer);
    }
  }

 private:
  void put_in_force(const PrefetchOptions& options, PrefetchBuffer& buffer) noexcept;

  std::unique_ptr<PrefetchTuner> tuner_;  ///< null unless prefetching is tuned
  std::atomic<PrefetchInForce> in_force_{};
};

}  // namespace mxkv::runtime

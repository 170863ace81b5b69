// A clock whose steady time goes on from the steady time of an earlier process.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/clock.hpp"

namespace mxkv::runtime {

/// `From`: the clock that this one follows in all but the steady time. Thread-safety: as Clock.
template <class From>
class ResumedClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override { return from_.monotonic_ns(); }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override { return from_.unix_us(); }
  using Clock::steady_us;
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept override {
    return from_.steady_us(monotonic_ns) + shift_us_.load(std::memory_order_relaxed);
  }

  /// The steady time is this now. Start-up only: nothing may have used the steady time before.
  void resume_at(std::uint64_t steady_us) noexcept {
    shift_us_.store(steady_us - from_.steady_us(), std::memory_order_relaxed);
  }
  [[nodiscard]] From& from() noexcept { return from_; }

 private:
  From from_;
  std::atomic<std::uint64_t> shift_us_{
      0};  // wraps around. Relaxed: set before the threads that read it start
};

}  // namespace mxkv::runtime

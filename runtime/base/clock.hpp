// Time as the runtime sees it: an injectable source, read at most once a turn by each worker.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::runtime {

/// A source of time. Thread-safety: any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back; for intervals. Nanoseconds from an arbitrary start.
  [[nodiscard]] virtual std::uint64_t monotonic_ns() const noexcept = 0;
  /// Microseconds since 1970-01-01 UTC; may jump when the system clock is set.
  [[nodiscard]] virtual std::uint64_t unix_us() const noexcept = 0;
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override;
  [[nodiscard]] std::uint64_t unix_us() const noexcept override;
};

/// The system's clocks, of which the time of day can be stopped and moved: to test expiry without waiting.
class SteeredClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override { return system_.monotonic_ns(); }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override;
  /// Time stands still; move_s() still moves it.
  void stop() noexcept;
  /// Time runs again, from where it would be by now.
  void go_on() noexcept;
  /// Forward, or backward.
  void move_s(std::int64_t seconds) noexcept;

 private:
  SystemClock system_;
  // Relaxed: each is a number of its own; a reader that sees one without the other is a moment early.
  std::atomic<std::int64_t> ahead_us_{0};
  std::atomic<std::int64_t> stopped_us_{0};  ///< the system's time at which it was stopped; 0: it runs
};

/// A clock that stands still until a test moves it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::uint64_t unix_us = 1'700'000'000'000'000) noexcept : unix_us_(unix_us) {}
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override {
    return monotonic_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override {
    return unix_us_.load(std::memory_order_relaxed);
  }
  void advance_us(std::uint64_t us) noexcept {
    monotonic_ns_.fetch_add(us * 1000, std::memory_order_relaxed);
    unix_us_.fetch_add(us, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> monotonic_ns_{1};
  std::atomic<std::uint64_t> unix_us_;
};

}  // namespace mxkv::runtime

// Time as the runtime sees it: an injectable source, read at most once a turn by each worker.
//
// Durations and expiry are reckoned by steady_us(): unix time when the clock was made, and from there on the monotonic
// clock. Setting the system's clock, by hand or by a step of NTP's, changes nothing for it. The wall clock
// itself is asked only where people and clients mean it: for the time, and for an absolute time of theirs.
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
  /// Microseconds since 1970-01-01 UTC by the wall clock; jumps when the system clock is set.
  [[nodiscard]] virtual std::uint64_t unix_us() const noexcept = 0;
  /// Microseconds since 1970-01-01 UTC as of when the clock was made, plus the time passed since, at
  /// `monotonic_ns` of the same clock. Never jumps.
  [[nodiscard]] virtual std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept = 0;

  /// The same, now.
  [[nodiscard]] std::uint64_t steady_us() const noexcept { return steady_us(monotonic_ns()); }
  /// Seconds by which the wall clock is ahead of the steady time, by being set since. Rounded, so that the
  /// time between two looks is none.
  [[nodiscard]] std::int64_t wall_ahead_s() const noexcept;
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  SystemClock() noexcept;
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override;
  [[nodiscard]] std::uint64_t unix_us() const noexcept override;
  using Clock::steady_us;
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept override {
    return start_us_ + monotonic_ns / 1000;
  }

 private:
  std::uint64_t start_us_;  ///< unix time of the monotonic clock's own start
};

/// The system's clocks, of which the time of day, steady and by the wall, can be stopped and moved: to test
/// expiry without waiting.
class SteeredClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override { return system_.monotonic_ns(); }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override;
  using Clock::steady_us;
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept override;
  /// Time stands still; move_s() still moves it.
  void stop() noexcept;
  /// Time runs again, from where it would be by now.
  void go_on() noexcept;
  /// Forward, or backward.
  void move_s(std::int64_t seconds) noexcept;

 private:
  [[nodiscard]] std::uint64_t steered(std::uint64_t running_us,
                                      const std::atomic<std::int64_t>& stopped_us) const noexcept;

  SystemClock system_;
  // Relaxed: each is a number of its own; a reader that sees one without the other is a moment early.
  std::atomic<std::int64_t> ahead_us_{0};
  std::atomic<std::int64_t> stopped_us_{0};       ///< the steady time at which it was stopped; 0: it runs
  std::atomic<std::int64_t> stopped_wall_us_{0};  ///< the wall clock's time then
};

/// A clock that stands still until a test moves it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::uint64_t unix_us = 1'700'000'000'000'000) noexcept
      : start_us_(unix_us), unix_us_(unix_us) {}
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override {
    return monotonic_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override {
    return unix_us_.load(std::memory_order_relaxed);
  }
  using Clock::steady_us;
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept override {
    return start_us_ + monotonic_ns / 1000;
  }
  void advance_us(std::uint64_t us) noexcept {
    monotonic_ns_.fetch_add(us * 1000, std::memory_order_relaxed);
    unix_us_.fetch_add(us, std::memory_order_relaxed);
  }
  /// Sets the wall clock, forward or backward; nothing passes.
  void set_wall_us(std::uint64_t unix_us) noexcept { unix_us_.store(unix_us, std::memory_order_relaxed); }

 private:
  std::uint64_t start_us_;
  std::atomic<std::uint64_t> monotonic_ns_{1};
  std::atomic<std::uint64_t> unix_us_;
};

}  // namespace mxkv::runtime

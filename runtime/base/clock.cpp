#include "runtime/base/clock.hpp"

#include <algorithm>
#include <chrono>

namespace mxkv::runtime {

std::int64_t Clock::wall_ahead_s() const noexcept {
  constexpr std::int64_t kUsPerSecond = 1'000'000;
  const auto ahead_us = static_cast<std::int64_t>(unix_us() - steady_us());
  return (ahead_us + (ahead_us < 0 ? -kUsPerSecond / 2 : kUsPerSecond / 2)) / kUsPerSecond;
}

SystemClock::SystemClock() noexcept : start_us_(0) {
  start_us_ = unix_us() - monotonic_ns() / 1000;
}

std::uint64_t SystemClock::monotonic_ns() const noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t SystemClock::unix_us() const noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::uint64_t SteeredClock::unix_us() const noexcept {
  return steered(system_.unix_us(), stopped_wall_us_);
}

std::uint64_t SteeredClock::steady_us(std::uint64_t monotonic_ns) const noexcept {
  return steered(system_.steady_us(monotonic_ns), stopped_us_);
}

std::uint64_t SteeredClock::steered(std::uint64_t running_us,
                                    const std::atomic<std::int64_t>& stopped_us) const noexcept {
  const std::int64_t stopped = stopped_us.load(std::memory_order_relaxed);
  const std::int64_t now = stopped == 0 ? static_cast<std::int64_t>(running_us) : stopped;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(now + ahead_us_.load(std::memory_order_relaxed), 1));
}

void SteeredClock::stop() noexcept {
  std::int64_t runs = 0;
  if (stopped_us_.compare_exchange_strong(runs, static_cast<std::int64_t>(system_.steady_us()),
                                          std::memory_order_relaxed)) {
    stopped_wall_us_.store(static_cast<std::int64_t>(system_.unix_us()), std::memory_order_relaxed);
  }
}

void SteeredClock::go_on() noexcept {
  stopped_us_.store(0, std::memory_order_relaxed);
  stopped_wall_us_.store(0, std::memory_order_relaxed);
}

void SteeredClock::move_s(std::int64_t seconds) noexcept {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 32U;  // no time that means anything is farther away
  ahead_us_.fetch_add(std::clamp(seconds, -kFarthest, kFarthest) * 1'000'000, std::memory_order_relaxed);
}

}  // namespace mxkv::runtime

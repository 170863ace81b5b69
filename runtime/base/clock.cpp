#include "runtime/base/clock.hpp"

#include <algorithm>
#include <chrono>

namespace mxkv::runtime {

std::uint64_t SystemClock::monotonic_ns() const noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t SystemClock::unix_us() const noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::uint64_t SteeredClock::unix_us() const noexcept {
  const std::int64_t stopped = stopped_us_.load(std::memory_order_relaxed);
  const std::int64_t now = stopped == 0 ? static_cast<std::int64_t>(system_.unix_us()) : stopped;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(now + ahead_us_.load(std::memory_order_relaxed), 1));
}

void SteeredClock::stop() noexcept {
  std::int64_t runs = 0;
  stopped_us_.compare_exchange_strong(runs, static_cast<std::int64_t>(system_.unix_us()),
                                      std::memory_order_relaxed);
}

void SteeredClock::go_on() noexcept {
  stopped_us_.store(0, std::memory_order_relaxed);
}

void SteeredClock::move_s(std::int64_t seconds) noexcept {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 32U;  // no time that means anything is farther away
  ahead_us_.fetch_add(std::clamp(seconds, -kFarthest, kFarthest) * 1'000'000, std::memory_order_relaxed);
}

}  // namespace mxkv::runtime

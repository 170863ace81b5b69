// Clocks: the system's never goes back, the manual one moves only when told to.
#include "runtime/base/clock.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

TEST(SystemClock, MonotonicTimeNeverGoesBack) {
  const SystemClock clock;
  std::uint64_t before = clock.monotonic_ns();
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock.monotonic_ns();
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(SystemClock, CountsUnixTimeInMicroseconds) {
  constexpr std::uint64_t kUsPerYear = 365ULL * 24 * 3600 * 1'000'000;
  const std::uint64_t now = SystemClock{}.unix_us();
  EXPECT_GT(now, 50 * kUsPerYear);
  EXPECT_LT(now, 500 * kUsPerYear);
}

TEST(SteeredClock, RunsWithTheSystemsUntilItIsStoppedOrMoved) {
  constexpr std::uint64_t kSecond = 1'000'000;
  SteeredClock clock;
  EXPECT_GE(clock.unix_us(), SystemClock{}.unix_us() - kSecond);
  clock.stop();
  const std::uint64_t stopped = clock.unix_us();
  clock.stop();
  EXPECT_EQ(clock.unix_us(), stopped);
  clock.move_s(100);
  EXPECT_EQ(clock.unix_us(), stopped + 100 * kSecond);
  clock.move_s(-150);
  EXPECT_EQ(clock.unix_us(), stopped - 50 * kSecond);
  clock.go_on();
  EXPECT_GE(clock.unix_us(), stopped - 50 * kSecond);
  const std::uint64_t ns = clock.monotonic_ns();
  EXPECT_GE(clock.monotonic_ns(), ns);
}

TEST(SteeredClock, NoMoveMakesItOverflow) {
  SteeredClock clock;
  clock.move_s(INT64_MIN);
  EXPECT_EQ(clock.unix_us(), 1U);
  clock.move_s(INT64_MAX);
  EXPECT_GT(clock.unix_us(), 1U);
}

TEST(ManualClock, StandsStillUntilMoved) {
  ManualClock clock{5'000'000};
  const std::uint64_t ns = clock.monotonic_ns();
  EXPECT_EQ(clock.unix_us(), 5'000'000U);
  EXPECT_EQ(clock.monotonic_ns(), ns);
  clock.advance_us(3);
  EXPECT_EQ(clock.unix_us(), 5'000'003U);
  EXPECT_EQ(clock.monotonic_ns(), ns + 3000);
}

}  // namespace
}  // namespace mxkv::runtime

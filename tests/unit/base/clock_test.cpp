// Clocks: the system's never goes back, the manual one moves only when a test moves it.
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

TEST(SystemClock, SteadyTimeIsUnixTimeAsOfItsStart) {
  constexpr std::uint64_t kSecond = 1'000'000;
  const SystemClock clock;
  EXPECT_GE(clock.steady_us(), SystemClock{}.unix_us() - kSecond);
  EXPECT_EQ(clock.steady_us(7'000), clock.steady_us(0) + 7);
  EXPECT_EQ(clock.wall_ahead_s(), 0);
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

TEST(SteeredClock, SteadyTimeAndWallClockMoveAlike) {
  constexpr std::uint64_t kSecond = 1'000'000;
  SteeredClock clock;
  clock.stop();
  const std::uint64_t stopped = clock.steady_us();
  EXPECT_EQ(clock.steady_us(clock.monotonic_ns() + 5'000'000), stopped);
  clock.move_s(100);
  EXPECT_EQ(clock.steady_us(), stopped + 100 * kSecond);
  EXPECT_EQ(clock.wall_ahead_s(), 0);
  clock.go_on();
  EXPECT_GE(clock.steady_us(), stopped + 100 * kSecond);
  EXPECT_EQ(clock.wall_ahead_s(), 0);
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

TEST(ManualClock, SteadyTimeKnowsNothingOfAWallClockThatIsSet) {
  constexpr std::uint64_t kSecond = 1'000'000;
  ManualClock clock{1000 * kSecond};
  clock.advance_us(5 * kSecond);
  clock.set_wall_us(8205 * kSecond);
  EXPECT_EQ(clock.steady_us(), 1005 * kSecond);
  EXPECT_EQ(clock.wall_ahead_s(), 7200);
  clock.set_wall_us(5 * kSecond - 400'000);
  EXPECT_EQ(clock.steady_us(), 1005 * kSecond);
  EXPECT_EQ(clock.wall_ahead_s(), -1000) << "rounded";
}

}  // namespace
}  // namespace mxkv::runtime

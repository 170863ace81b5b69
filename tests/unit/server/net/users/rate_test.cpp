// Rates: how much may be drawn when, debts, and that concurrent draws never exceed the rate.
#include "server/net/users/rate.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kStart = 100 * Rate::kSecondNs;

TEST(Rate, WithoutALimitThereIsAlwaysRoom) {
  Rate rate;
  rate.draw(1U << 30U, kStart);
  EXPECT_EQ(rate.room(kStart), Rate::kNoLimit);
  EXPECT_FALSE(rate.limits());
}

TEST(Rate, ASecondsWorthMayBeDrawnAtOnceAndComesBackWithTime) {
  Rate rate;
  rate.set(10);
  EXPECT_EQ(rate.room(kStart), 10U);
  rate.draw(10, kStart);
  EXPECT_EQ(rate.room(kStart), 0U);
  EXPECT_EQ(rate.room(kStart + Rate::kSecondNs / 10 - 1'000'000), 0U);
  EXPECT_GE(rate.next_ns(), kStart + Rate::kSecondNs / 10);
  EXPECT_EQ(rate.room(rate.next_ns()), 1U) << "who waits so long does not wait in vain";
  EXPECT_EQ(rate.room(kStart + 100 * Rate::kSecondNs), 10U) << "no more is saved";
}

TEST(Rate, DrawingMoreThanIsThereIsADebt) {
  Rate rate;
  rate.set(1000);
  rate.draw(5000, kStart);
  EXPECT_EQ(rate.room(kStart + 3 * Rate::kSecondNs), 0U);
  EXPECT_NEAR(static_cast<double>(rate.room(kStart + 4 * Rate::kSecondNs + Rate::kSecondNs / 2)), 500, 1);
}

TEST(Rate, TakesEffectForLargeAndSmallRatesAlike) {
  for (const std::uint64_t a_second :
       {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1'000'000'000}, std::uint64_t{1} << 40U}) {
    Rate rate;
    rate.set(a_second);
    std::uint64_t drawn = 0;
    std::uint64_t now = kStart;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t room = std::min<std::uint64_t>(rate.room(now), a_second / 7 + 1);
      rate.draw(room, now);
      drawn += room;
      now = std::max(now, room == 0 ? rate.next_ns() : now);
    }
    const double seconds = static_cast<double>(now - kStart) / 1e9;
    EXPECT_LE(static_cast<double>(drawn), (seconds + 1.01) * static_cast<double>(a_second) + 1) << a_second;
    EXPECT_GE(static_cast<double>(drawn), seconds * 0.9 * static_cast<double>(a_second)) << a_second;
  }
}

TEST(Rate, DrawsOfManyThreadsAddUp) {
  Rate rate;
  rate.set(1'000'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&rate] {
      for (int n = 0; n < 10'000; ++n) {
        rate.draw(100, kStart);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(rate.room(kStart + 2 * Rate::kSecondNs), 0U);
  EXPECT_GT(rate.room(kStart + 3 * Rate::kSecondNs + 1'000'000), 0U);
}

}  // namespace
}  // namespace mxkv::server

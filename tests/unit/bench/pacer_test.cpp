// Due times follow the rate alone, whatever the clock says, and late operations are counted.
#include "bench/client/pacer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kBegin = 5'000'000'000;
constexpr std::uint64_t kMs = 1'000'000;

TEST(Pacer, WithoutARateDoesNotPace) {
  EXPECT_FALSE(Pacer({}).paced());
  EXPECT_FALSE(Pacer({}).figures().fell_behind());
}

TEST(Pacer, ConstantArrivalsComeInEqualGapsHoweverLateTheyAreSent) {
  Pacer pacer({.rate_per_s = 1000});
  pacer.start(kBegin);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t due = kBegin + i * kMs;
    EXPECT_EQ(pacer.next_ns(), due);
    EXPECT_EQ(pacer.send(due + (i % 7) * kMs), due);
  }
}

TEST(Pacer, DoesNotDriftAtRatesThatAreNoWholeNumberOfNanoseconds) {
  Pacer pacer({.rate_per_s = 3'000'000});
  pacer.start(0);
  for (int i = 0; i < 3'000'000; ++i) {
    pacer.send(0);
  }
  EXPECT_NEAR(static_cast<double>(pacer.next_ns()), 1e9, 1);
}

TEST(Pacer, ThreadsTogetherMakeTheRateInTurns) {
  std::vector<std::uint64_t> due;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    Pacer pacer({.rate_per_s = 1000, .index = thread, .threads = 4});
    pacer.start(kBegin);
    for (int i = 0; i < 25; ++i) {
      due.push_back(pacer.send(kBegin));
    }
  }
  std::sort(due.begin(), due.end());
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_EQ(due[i], kBegin + i * kMs);
  }
}

TEST(Pacer, PoissonArrivalsHaveTheRateAndTheSpreadOfExponentialGaps) {
  constexpr int kArrivals = 200'000;
  Pacer pacer({.rate_per_s = 10'000, .arrivals = Arrivals::poisson, .seed = 7});
  pacer.start(0);
  double sum = 0;
  double squares = 0;
  std::uint64_t last = 0;
  for (int i = 0; i < kArrivals; ++i) {
    const std::uint64_t due = pacer.send(0);
    const auto gap = static_cast<double>(due - last);
    sum += gap;
    squares += gap * gap;
    last = due;
  }
  const double mean = sum / kArrivals;
  EXPECT_NEAR(mean, 100'000, 1000);
  EXPECT_NEAR(std::sqrt(squares / kArrivals - mean * mean) / mean, 1, 0.02);  // exponential: deviation = mean
}

TEST(Pacer, TheSameSeedGivesTheSameArrivals) {
  Pacer a({.rate_per_s = 10, .arrivals = Arrivals::poisson, .seed = 3});
  Pacer b({.rate_per_s = 10, .arrivals = Arrivals::poisson, .seed = 3});
  Pacer other({.rate_per_s = 10, .arrivals = Arrivals::poisson, .seed = 4});
  a.start(0);
  b.start(0);
  other.start(0);
  EXPECT_NE(a.next_ns(), other.next_ns());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.send(0), b.send(0));
  }
}

TEST(Pacer, KeptScheduleIsNotBehind) {
  Pacer pacer({.rate_per_s = 100});
  pacer.start(kBegin);
  for (int i = 0; i < 100; ++i) {
    pacer.send(pacer.next_ns() + kMs);
  }
  pacer.stop(pacer.next_ns());
  EXPECT_EQ(pacer.figures().sent, 100U);
  EXPECT_EQ(pacer.figures().max_lag_ns, kMs);
  EXPECT_FALSE(pacer.figures().fell_behind());
}

TEST(Pacer, OneLateOperationIsBehind) {
  Pacer pacer({.rate_per_s = 100});
  pacer.start(kBegin);
  pacer.send(pacer.next_ns() + 101 * kMs);
  pacer.send(pacer.next_ns());
  EXPECT_EQ(pacer.figures().max_lag_ns, 101 * kMs);
  EXPECT_EQ(pacer.figures().last_lag_ns, 0U);
  EXPECT_TRUE(pacer.figures().fell_behind());
}

TEST(Pacer, AnEndMoreThanOnePercentLateIsBehind) {
  for (const std::uint64_t lag_ms : {19U, 21U}) {
    Pacer pacer({.rate_per_s = 100});
    pacer.start(kBegin);
    for (int i = 0; i < 200; ++i) {  // two seconds: 1 % is 20 ms
      pacer.send(pacer.next_ns());
    }
    pacer.send(pacer.next_ns() + lag_ms * kMs);
    EXPECT_EQ(pacer.figures().fell_behind(), lag_ms > 20) << lag_ms;
  }
}

TEST(Pacer, OperationsDueBeforeTheEndAndNotSentAreCounted) {
  Pacer pacer({.rate_per_s = 1000});
  pacer.start(kBegin);
  pacer.send(kBegin);
  pacer.stop(kBegin + 10 * kMs);
  EXPECT_EQ(pacer.figures().unsent, 9U);
  EXPECT_FALSE(pacer.figures().fell_behind());  // 9 ms before the end: it may have been on its way
  pacer.stop(kBegin + 100 * kMs);
  EXPECT_EQ(pacer.figures().unsent, 99U);
  EXPECT_TRUE(pacer.figures().fell_behind());
}

TEST(ScheduleFigures, OfThreadsAddUpAndKeepTheWorstLag) {
  ScheduleFigures sum;
  sum.merge({.rate_per_s = 10, .arrivals = Arrivals::poisson, .sent = 5, .max_lag_ns = 7, .last_lag_ns = 1});
  sum.merge({.rate_per_s = 20,
             .arrivals = Arrivals::poisson,
             .sent = 6,
             .unsent = 2,
             .max_lag_ns = 3,
             .last_lag_ns = 2});
  EXPECT_DOUBLE_EQ(sum.rate_per_s, 30);
  EXPECT_EQ(sum.arrivals, Arrivals::poisson);
  EXPECT_EQ(sum.sent, 11U);
  EXPECT_EQ(sum.unsent, 2U);
  EXPECT_EQ(sum.max_lag_ns, 7U);
  EXPECT_EQ(sum.last_lag_ns, 2U);
}

}  // namespace
}  // namespace mxkv::bench

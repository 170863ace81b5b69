// Points in time in eleven bits: which comes first, and which has come, for any present moment.
#include "index/due.hpp"

#include <gtest/gtest.h>

#include "runtime/base/random.hpp"

namespace mxkv::index {
namespace {

constexpr std::uint64_t kStep = Due::kSecondsAStep;
constexpr std::uint64_t kNow = 1'700'000'003;

TEST(Due, NeverIsNeverReached) {
  EXPECT_TRUE(Due{}.never());
  EXPECT_FALSE(Due{}.reached(kNow));
  EXPECT_EQ(Due{}.bits(), 0U);
}

TEST(Due, ComesWithinAStepAfterTheTimeAndNotBefore) {
  runtime::Random random{1};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t now = kNow + random.below(100'000);
    const std::uint64_t at = now + random.below((Due::kMostAhead - 1) * kStep);
    const Due due = Due::from_bits(Due::at(at, now).bits());
    ASSERT_FALSE(due.never());
    ASSERT_LT(due.bits(), std::uint64_t{1} << Due::kBits);
    ASSERT_EQ(due.reached(at), false) << at;
    ASSERT_TRUE(due.reached(at + kStep));
    ASSERT_TRUE(due.reached(at + kStep + 600)) << "ten minutes later it still has come";
    const std::uint64_t left = due.seconds_left(now);
    ASSERT_GT(now + left + kStep, at);
    ASSERT_LE(now + left, at + 2 * kStep);
  }
}

TEST(Due, APastTimeHasCome) {
  for (const std::uint64_t at : {std::uint64_t{1}, kNow - 100'000, kNow - kStep}) {
    EXPECT_TRUE(Due::at(at, kNow).reached(kNow)) << at;
  }
}

TEST(Due, AFarTimeIsBroughtForward) {
  const Due due = Due::at(kNow + 10'000'000, kNow);
  EXPECT_FALSE(due.reached(kNow + (Due::kMostAhead - 1) * kStep));
  EXPECT_TRUE(due.reached(kNow + (Due::kMostAhead + 1) * kStep));
}

TEST(Due, TheSoonerOfTwoIsTheOneThatComesFirst) {
  runtime::Random random{2};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t now = kNow + random.below(100'000);
    const std::uint64_t a = now + random.below(Due::kMostAhead * kStep);
    const std::uint64_t b = now + random.below(Due::kMostAhead * kStep);
    const Due sooner = Due::at(a, now).or_sooner(Due::at(b, now));
    ASSERT_EQ(sooner.bits(), Due::at(std::min(a, b), now).bits());
  }
  EXPECT_EQ(Due{}.or_sooner(Due::at(kNow, kNow)).bits(), Due::at(kNow, kNow).bits());
  EXPECT_EQ(Due::at(kNow, kNow).or_sooner(Due{}).bits(), Due::at(kNow, kNow).bits());
  EXPECT_TRUE(Due{}.or_sooner(Due{}).never());
}

}  // namespace
}  // namespace mxkv::index

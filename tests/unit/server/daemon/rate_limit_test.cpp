// At most so many lines a second; every line is either written or counted.
#include "server/daemon/rate_limit.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

TEST(RateLimit, AllowsItsRateInEachSecond) {
  RateLimit limit{3};
  for (std::uint64_t second = 1; second < 4; ++second) {
    int allowed = 0;
    for (int line = 0; line < 10; ++line) {
      allowed += limit.allows(second) ? 1 : 0;
    }
    EXPECT_EQ(allowed, 3);
  }
  EXPECT_EQ(limit.take_left_out(), 21U);
  EXPECT_FALSE(limit.owes_note());
}

TEST(RateLimit, SaysHowManyWereLeftOutWhenTheirSecondIsOver) {
  RateLimit limit{1};
  EXPECT_TRUE(limit.allows(5));
  EXPECT_FALSE(limit.allows(5));
  EXPECT_TRUE(limit.owes_note());
  EXPECT_EQ(limit.take_left_out(5), 0U);
  EXPECT_EQ(limit.take_left_out(6), 1U);
  EXPECT_EQ(limit.take_left_out(6), 0U);
}

TEST(RateLimit, ZeroIsNoLimit) {
  RateLimit limit{0};
  for (int line = 0; line < 1000; ++line) {
    EXPECT_TRUE(limit.allows(1));
  }
}

TEST(RateLimit, ANewRateHoldsAtOnce) {
  RateLimit limit{1};
  EXPECT_TRUE(limit.allows(1));
  limit.set_rate(2);
  EXPECT_TRUE(limit.allows(1));
  EXPECT_FALSE(limit.allows(1));
}

}  // namespace
}  // namespace mxkv::server

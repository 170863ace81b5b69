// Random: the published sequence of xoshiro256** seeded by splitmix64, on every machine.
#include "runtime/base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>

namespace mxkv::runtime {
namespace {

TEST(Random, FollowsTheReferenceSequence) {
  Random zero{0};
  EXPECT_EQ(zero(), 0x99EC5F36CB75F2B4U);
  EXPECT_EQ(zero(), 0xBF6E1F784956452AU);
  EXPECT_EQ(zero(), 0x1A5F849D4933E6E0U);
  Random forty_two{42};
  EXPECT_EQ(forty_two(), 0x15780B2E0C2EC716U);
  EXPECT_EQ(forty_two(), 0x6104D9866D113A7EU);
}

TEST(Random, RepeatsItselfForASeedAndDiffersBetweenSeeds) {
  Random one{7};
  Random same{7};
  Random other{8};
  int differing = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = one();
    EXPECT_EQ(number, same());
    differing += number != other() ? 1 : 0;
  }
  EXPECT_GE(differing, 99);
}

TEST(Random, BelowStaysBelowItsBoundAndReachesAllOfIt) {
  Random random{1};
  std::array<int, 10> seen{};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t number = random.below(seen.size());
    ASSERT_LT(number, seen.size());
    ++seen[static_cast<std::size_t>(number)];
  }
  for (const int count : seen) {
    EXPECT_GT(count, 800) << "a tenth of 10000 with a deviation of 30";
    EXPECT_LT(count, 1200);
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random.below(1), 0U);
  }
}

TEST(Random, ServesTheStandardDistributions) {
  static_assert(std::uniform_random_bit_generator<Random>);
  Random random{3};
  std::uniform_int_distribution<int> dice{1, 6};
  for (int i = 0; i < 100; ++i) {
    const int number = dice(random);
    EXPECT_TRUE(number >= 1 && number <= 6);
  }
}

}  // namespace
}  // namespace mxkv::runtime

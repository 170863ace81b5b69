// The distributions have the frequencies that the theory gives, on fixed seeds.
#include "bench/workload/zipfian.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "bench/workload/keys.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kDraws = 1'000'000;

/// The share of the draws that item `rank` (from 0) must get.
double share_of_rank(std::uint64_t rank, double zeta) {
  return 1 / std::pow(static_cast<double>(rank + 1), Zipfian::kTheta) / zeta;
}

TEST(Zipfian, TopItemsHaveTheirTheoreticalShare) {
  constexpr std::uint64_t kItems = 1000;
  runtime::Random random(1);
  Zipfian zipfian(kItems);
  std::vector<std::uint64_t> counts(kItems + 1);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ++counts.at(zipfian.next(random));
  }
  const double zeta = Zipfian::zeta(0, kItems);
  for (const std::uint64_t rank : {0U, 1U}) {  // exact in Gray's method
    const double share = static_cast<double>(counts[rank]) / kDraws;
    EXPECT_NEAR(share / share_of_rank(rank, zeta), 1.0, 0.02) << rank;
  }
  // The others come from an inverted integral: ranges of ranks are close, single ranks less so.
  for (const auto& [from, to] : {std::pair{2U, 10U}, {10U, 100U}, {100U, 1000U}}) {
    double expected = 0;
    double drawn = 0;
    for (std::uint64_t rank = from; rank < to; ++rank) {
      expected += share_of_rank(rank, zeta);
      drawn += static_cast<double>(counts[rank]) / kDraws;
    }
    EXPECT_NEAR(drawn / expected, 1.0, 0.1) << from;
  }
}

TEST(Zipfian, WithItemsAddedEqualsOneBuiltWithAllOfThemInItsTopShares) {
  runtime::Random random(2);
  Zipfian grown(100);
  std::uint64_t zeros = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    zeros += grown.next(random, 10'000) == 0 ? 1 : 0;
  }
  const double expected = share_of_rank(0, Zipfian::zeta(0, 10'000));
  EXPECT_NEAR(static_cast<double>(zeros) / kDraws / expected, 1.0, 0.02);
}

TEST(Zipfian, ZetaOfTenBillionItemsContinuesTheSumAsYcsbPrecomputedIt) {
  // The tail beyond n by Euler and Maclaurin: integral minus half of the last term.
  constexpr std::uint64_t kSummed = 1'000'000;
  constexpr double kRest = 1 - Zipfian::kTheta;
  const double n = kSummed;
  const double m = ScrambledZipfian::kItemCount;
  const double integral = (std::pow(m, kRest) - std::pow(n, kRest)) / kRest;
  const double ends = (std::pow(m, -Zipfian::kTheta) - std::pow(n, -Zipfian::kTheta)) / 2;
  EXPECT_NEAR(Zipfian::zeta(0, kSummed) + integral + ends, ScrambledZipfian::kZeta, 1e-6);
}

TEST(ScrambledZipfian, SpreadsTheTopItemsByTheHash) {
  constexpr std::uint64_t kFirst = 500;
  constexpr std::uint64_t kItems = 100'000;
  runtime::Random random(3);
  ScrambledZipfian scrambled(kFirst, kItems);
  std::map<std::uint64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::uint64_t record = scrambled.next(random);
    ASSERT_GE(record, kFirst);
    ASSERT_LT(record, kFirst + kItems);
    ++counts[record];
  }
  for (const std::uint64_t rank : {0U, 1U}) {
    const double expected = share_of_rank(rank, ScrambledZipfian::kZeta);
    const auto drawn = static_cast<double>(counts[kFirst + fnv_hash64(rank) % kItems]) / kDraws;
    EXPECT_NEAR(drawn / expected, 1.0, 0.05) << rank;
  }
}

}  // namespace
}  // namespace mxkv::bench

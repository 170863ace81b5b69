// Percentiles are right to 1 %, never too low, and merging is as if all had been recorded in one.
#include "bench/client/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::bench {
namespace {

constexpr double kPercents[] = {0.01, 1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

std::uint64_t exact_percentile(const std::vector<std::uint64_t>& sorted, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

TEST(Histogram, PercentilesAreWithinOnePercentOfTheExactOnes) {
  runtime::Random random(3);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random() >> (24 + random.below(36));
    values.push_back(value);
    histogram.record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : kPercents) {
    const auto exact = static_cast<double>(exact_percentile(values, percent));
    const auto reported = static_cast<double>(histogram.percentile(percent));
    EXPECT_GE(reported, exact) << percent;
    EXPECT_LE(reported, exact * 1.01) << percent;
  }
}

TEST(Histogram, IsExactBelowTheFirstWideBucket) {
  for (std::uint64_t value = 0; value < 256; ++value) {
    Histogram histogram;
    histogram.record(value);
    histogram.record(1'000'000);
    EXPECT_EQ(histogram.percentile(50), value);
  }
}

TEST(Histogram, KeepsCountMeanAndExtremesExactly) {
  Histogram histogram;
  for (const std::uint64_t value : {1000U, 2000U, 6001U}) {
    histogram.record(value);
  }
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 9001.0 / 3);
  EXPECT_EQ(histogram.min(), 1000U);
  EXPECT_EQ(histogram.max(), 6001U);
  EXPECT_EQ(histogram.percentile(100), 6001U);
}

TEST(Histogram, WithNothingRecordedIsAllZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.percentile(99), 0U);
  EXPECT_EQ(histogram.mean(), 0.0);
}

TEST(Histogram, CutsValuesOffAtItsRange) {
  Histogram histogram;
  histogram.record(~std::uint64_t{0});
  EXPECT_EQ(histogram.max(), (std::uint64_t{1} << Histogram::kMaxBits) - 1);
  EXPECT_EQ(histogram.percentile(50), histogram.max());
}

TEST(Histogram, MergedEqualsRecordedInOne) {
  runtime::Random random(11);
  Histogram all;
  Histogram parts[2];
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = random.below(1'000'000);
    all.record(value);
    parts[i % 2].record(value);
  }
  parts[0].merge(parts[1]);
  EXPECT_EQ(parts[0].count(), all.count());
  EXPECT_EQ(parts[0].min(), all.min());
  EXPECT_EQ(parts[0].max(), all.max());
  EXPECT_DOUBLE_EQ(parts[0].mean(), all.mean());
  for (const double percent : kPercents) {
    EXPECT_EQ(parts[0].percentile(percent), all.percentile(percent));
  }
}

}  // namespace
}  // namespace mxkv::bench

// Buckets cover all values without a gap, and percentiles are exact to the width of a bucket.
#include "server/net/observe/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mxkv::server {
namespace {

TEST(LatencyHistogram, EveryValueIsInTheBucketThatEndsAtOrAboveIt) {
  for (unsigned power = 0; power < LatencyHistogram::kLargestPower; ++power) {
    for (const std::uint64_t value : {(std::uint64_t{1} << power) - 1, std::uint64_t{1} << power,
                                      (std::uint64_t{1} << power) + (std::uint64_t{1} << power) / 3}) {
      const std::size_t bucket = LatencyHistogram::bucket_of(value);
      EXPECT_GE(LatencyHistogram::greatest_of(bucket), value);
      if (bucket > 0) {
        EXPECT_LT(LatencyHistogram::greatest_of(bucket - 1), value);
      }
    }
  }
}

TEST(LatencyHistogram, BucketsAreAtMostASixteenthWide) {
  for (std::size_t bucket = LatencyHistogram::kSteps; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const std::uint64_t least = LatencyHistogram::greatest_of(bucket - 1) + 1;
    EXPECT_EQ(LatencyHistogram::bucket_of(least), bucket);
    EXPECT_LE((LatencyHistogram::greatest_of(bucket) - least + 1) * LatencyHistogram::kSteps, least);
  }
}

TEST(LatencyHistogram, TooLongTimesAreInTheLastBucket) {
  EXPECT_EQ(LatencyHistogram::bucket_of(~std::uint64_t{0}), LatencyHistogram::kBuckets - 1);
}

TEST(LatencyHistogram, PercentilesAreThoseOfTheValues) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (std::uint64_t value = 1; value <= 10'000; ++value) {
    histogram->add(value * 100);
  }
  LatencyHistogram::Counts counts{};
  histogram->add_to(counts);
  for (const std::uint64_t per_million : {1'000U, 500'000U, 900'000U, 990'000U, 999'900U, 1'000'000U}) {
    const std::uint64_t exact = per_million;  // the value at that share of 1 to 10,000 times 100
    const std::uint64_t found = LatencyHistogram::percentile(counts, per_million);
    EXPECT_GE(found, exact) << per_million;
    EXPECT_LE(found, exact + exact / 16) << per_million;
  }
}

TEST(LatencyHistogram, OfNothingAllPercentilesAreZero) {
  EXPECT_EQ(LatencyHistogram::percentile({}, 999'900), 0U);
}

}  // namespace
}  // namespace mxkv::server

// Sparse histograms lose nothing, and seconds that threads hand in add up.
#include "bench/client/series.hpp"

#include <gtest/gtest.h>

#include "runtime/base/random.hpp"

namespace mxkv::bench {
namespace {

constexpr double kPercents[] = {0.01, 50, 99, 99.99, 100};

Histogram random_histogram(std::uint64_t seed, int count) {
  runtime::Random random(seed);
  Histogram histogram;
  for (int i = 0; i < count; ++i) {
    histogram.record(random() >> (24 + random.below(36)));
  }
  return histogram;
}

template <class A, class B>
void expect_equal(const A& a, const B& b) {
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.sum(), b.sum());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_DOUBLE_EQ(a.mean(), b.mean());
  for (const double percent : kPercents) {
    EXPECT_EQ(a.percentile(percent), b.percentile(percent)) << percent;
  }
}

TEST(SparseHistogram, SaysWhatItsHistogramSays) {
  for (const int count : {0, 1, 100'000}) {
    const Histogram histogram = random_histogram(5, count);
    expect_equal(SparseHistogram(histogram), histogram);
  }
}

TEST(SparseHistogram, MergedEqualsRecordedInOne) {
  Histogram a = random_histogram(1, 1000);
  const Histogram b = random_histogram(2, 3000);
  SparseHistogram sparse(a);
  sparse.merge(SparseHistogram(b));
  sparse.merge(SparseHistogram());
  a.merge(b);
  expect_equal(sparse, a);
  Histogram back;
  sparse.add_to(back);
  expect_equal(back, a);
}

TEST(SparseHistogram, ComesBackFromItsParts) {
  const SparseHistogram made(random_histogram(9, 500));
  const auto back = SparseHistogram::from_parts(made.buckets(), made.sum(), made.min(), made.max());
  ASSERT_TRUE(back.ok());
  expect_equal(back.value(), made);
}

TEST(SparseHistogram, RefusesPartsThatContradictEachOther) {
  const SparseHistogram::Buckets wrong[] = {{{5, 1}, {5, 1}}, {{7, 1}, {5, 1}}, {{5, 0}}, {{1'000'000, 1}}};
  for (const auto& buckets : wrong) {
    EXPECT_FALSE(SparseHistogram::from_parts(buckets, 5, 5, 5).ok());
  }
  EXPECT_FALSE(SparseHistogram::from_parts({{5, 1}, {9, 1}}, 14, 5, 12).ok());
  EXPECT_FALSE(SparseHistogram::from_parts({{5, 1}, {9, 1}}, 14, 4, 9).ok());
  EXPECT_TRUE(SparseHistogram::from_parts({{5, 1}, {9, 1}}, 14, 5, 9).ok());
}

Second second_with(OperationKind kind, std::uint64_t latency_ns) {
  Histogram histogram;
  histogram.record(latency_ns);
  Second second;
  second.length_ns = latency_ns;
  second.operations = 1;
  second.latency[static_cast<std::size_t>(kind)] = SparseHistogram(histogram);
  return second;
}

TEST(SharedSeries, AddsUpWhatThreadsHandInForTheSameSecond) {
  SharedSeries series;
  series.add(2, second_with(OperationKind::read, 10));
  series.add(0, second_with(OperationKind::read, 20));
  series.add(2, second_with(OperationKind::scan, 30));
  const Series all = series.all();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].operations, 1U);
  EXPECT_EQ(all[1].operations, 0U);
  EXPECT_EQ(all[1].length_ns, 1'000'000'000U);
  EXPECT_EQ(all[2].operations, 2U);
  EXPECT_EQ(all[2].length_ns, 30U);
  EXPECT_EQ(all[2].all().count(), 2U);
}

TEST(SharedSeries, RecentIsWhatWasNotedSinceItWasTaken) {
  SharedSeries series;
  series.note(second_with(OperationKind::read, 10));
  series.note(second_with(OperationKind::scan, 10));
  EXPECT_EQ(series.take_recent().operations, 2U);
  EXPECT_EQ(series.take_recent().operations, 0U);
  EXPECT_TRUE(series.all().empty());
}

}  // namespace
}  // namespace mxkv::bench

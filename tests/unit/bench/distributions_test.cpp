// The distributions of keys, lengths and rates against their formulas, from fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "bench/client/pacer.hpp"
#include "bench/workload/fields.hpp"
#include "bench/workload/key_ranges.hpp"
#include "bench/workload/operations.hpp"
#include "bench/workload/pareto.hpp"
#include "bench/workload/uniform.hpp"
#include "bench/workload/weighted_sizes.hpp"

namespace mxkv::bench {
namespace {

constexpr int kManyDraws = 400'000;

/// The cumulative distribution, as the paper has it.
double part_below(const Pareto& pareto, double x) {
  return 1 - std::pow(1 + pareto.k * (x - pareto.theta) / pareto.sigma, -1 / pareto.k);
}

TEST(Pareto, QuantilesInvertTheCumulativeDistribution) {
  for (const Pareto& pareto : {Pareto{0.2615, 25.45, 0}, Pareto{2.517, 14.236, 0}, Pareto{-0.3, 10, 5}}) {
    for (const double unit : {0.0, 0.1, 0.5, 0.9, 0.999}) {
      EXPECT_NEAR(part_below(pareto, pareto.quantile(unit)), unit, 1e-9);
    }
  }
  EXPECT_DOUBLE_EQ((Pareto{0, 3, 1}).quantile(0.5), 1 + 3 * std::log(2));
}

TEST(Pareto, DrawsHaveTheMeanOfTheFormula) {
  const Pareto pareto{0.2615, 25.45, 0};
  runtime::Random random(1);
  double sum = 0;
  for (int i = 0; i < kManyDraws; ++i) {
    sum += pareto.quantile(next_unit(random));
  }
  EXPECT_NEAR(sum / kManyDraws, pareto.theta + pareto.sigma / (1 - pareto.k), 0.5);
}

TEST(Pareto, LengthsAboveTheLimitAreFoldedAndShortOnesRaised) {
  EXPECT_EQ(folded_length(12.9, 10, 1024), 12U);
  EXPECT_EQ(folded_length(3.5, 10, 1024), 10U);
  EXPECT_EQ(folded_length(1024, 10, 1024), 1024U);
  EXPECT_EQ(folded_length(1024 + 500, 10, 1024), 500U);
  EXPECT_EQ(folded_length(2048, 10, 1024), 10U);
  EXPECT_EQ(folded_length(1e300, 1, 10'000), folded_length(1e18, 1, 10'000));
  EXPECT_EQ(folded_length(-5, 1, 10'000), 1U);
}

TEST(KeyRanges, GetTheSharesOfTheTwoTermExponential) {
  const KeyRangeSpec spec;
  constexpr std::uint64_t kFirst = 1000;
  constexpr std::uint64_t kCount = 1'000'003;  // not a multiple of the ranges
  const KeyRangeChooser chooser(kFirst, kCount, spec);
  EXPECT_EQ(chooser.begin_of(0), kFirst);
  EXPECT_EQ(chooser.begin_of(spec.ranges), kFirst + kCount);

  std::vector<double> wanted;  // by the formula, from the hottest
  for (int i = 1; i <= 30; ++i) {
    wanted.push_back(14.18 * std::exp(-2.917 * i) + 0.0164 * std::exp(-0.08082 * i));
  }
  const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  std::vector<double> parts;
  for (std::size_t position = 0; position < spec.ranges; ++position) {
    parts.push_back(chooser.part(position));
  }
  EXPECT_NE(std::ranges::max_element(parts), parts.begin()) << "the ranges are shuffled";
  std::vector<double> sorted = parts;
  std::ranges::sort(sorted, std::greater<>());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_NEAR(sorted[i], wanted[i] / sum, 1e-12) << i;
  }

  std::vector<double> drawn(spec.ranges);
  runtime::Random random(7);
  for (int i = 0; i < kManyDraws; ++i) {
    const std::uint64_t record = chooser.next(random);
    ASSERT_GE(record, kFirst);
    ASSERT_LT(record, kFirst + kCount);
    std::size_t position = 0;
    while (chooser.begin_of(position + 1) <= record) {
      ++position;
    }
    drawn[position] += 1;
  }
  for (std::size_t position = 0; position < drawn.size(); ++position) {
    EXPECT_NEAR(drawn[position] / kManyDraws, parts[position], 0.003) << position;
  }
}

TEST(KeyRanges, WithinARangeAFewKeysAreHotUnlessItIsUniform) {
  KeyRangeSpec spec;
  spec.ranges = 1;
  const auto share_of_hottest = [&spec] {
    const KeyRangeChooser chooser(0, 10'000, spec);
    runtime::Random random(3);
    std::map<std::uint64_t, int> counts;
    for (int i = 0; i < kManyDraws; ++i) {
      ++counts[chooser.next(random)];
    }
    return static_cast<double>(
               std::ranges::max_element(counts, {}, [](auto& entry) { return entry.second; })->second) /
           kManyDraws;
  };
  // The power's rank 1 has the part key_a, and further ranks share its key by the hash.
  EXPECT_GT(share_of_hottest(), spec.key_a);
  spec.key_a = 0;
  EXPECT_LT(share_of_hottest(), 0.001);
}

TEST(KeyRanges, NegativeWeightsCountAsNone) {
  KeyRangeSpec spec{.a = -1, .b = 0, .c = 0, .d = 0};
  EXPECT_EQ(spec.sum(), 0);
  spec.c = 1.5;
  EXPECT_DOUBLE_EQ(spec.weight(3), 0.5);
}

TEST(WeightedSizes, AreDrawnByTheirWeights) {
  const auto sizes = WeightedSizes::parse("100:3,1000:0,2000:1", 4096);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes.value().draws(), 4U);
  EXPECT_EQ(sizes.value().bytes_of(0), 100U);
  EXPECT_EQ(sizes.value().bytes_of(2), 100U);
  EXPECT_EQ(sizes.value().bytes_of(3), 2000U);
  EXPECT_EQ(sizes.value().least_bytes(), 100U);
  EXPECT_EQ(sizes.value().most_bytes(), 2000U);
}

TEST(WeightedSizes, SayWhatIsWrong) {
  const auto problem = [](const char* text) { return WeightedSizes::parse(text, 4096).error().message; };
  const std::string form = "' is not BYTES:WEIGHT with 1 to 4096 bytes, as in 100:3,1000:1";
  EXPECT_EQ(problem(""), "'" + form);
  EXPECT_EQ(problem("100"), "'100" + form);
  EXPECT_EQ(problem("0:1"), "'0:1" + form);
  EXPECT_EQ(problem("4097:1"), "'4097:1" + form);
  EXPECT_EQ(problem("1:2,3:x"), "'3:x" + form);
  EXPECT_EQ(problem("1:0,2:0"), "'1:0,2:0' has no weight above 0");
  EXPECT_EQ(problem("1:1,"), "'1:1,' ends with a comma");
}

TEST(FieldLengths, OfRecordsFollowTheDistributionAndAreVerified) {
  FieldSpec fields;
  fields.count = 1;
  fields.bytes = 1024;
  fields.min_bytes = 10;
  fields.lengths = FieldLengths::pareto;
  const FieldFormat pareto(fields, KeyFormat(1));
  std::vector<std::size_t> lengths;
  for (std::uint64_t record = 0; record < 100'000; ++record) {
    lengths.push_back(pareto.record_bytes(fnv_hash64(record), 0));
  }
  std::ranges::sort(lengths);
  EXPECT_EQ(lengths.front(), 10U);
  EXPECT_LE(lengths.back(), 1024U);
  for (const double unit : {0.5, 0.9, 0.99}) {
    const double wanted = fields.pareto.quantile(unit);
    EXPECT_NEAR(static_cast<double>(lengths[static_cast<std::size_t>(unit * 100'000)]), wanted,
                wanted * 0.03);
  }

  fields.lengths = FieldLengths::weighted;
  fields.weights = WeightedSizes::parse("20:1,300:1", 4096).value();
  const FieldFormat weighted(fields, KeyFormat(1));
  EXPECT_EQ(weighted.most_record_bytes(), 300U);
  std::map<std::size_t, int> counts;
  for (std::uint64_t version = 0; version < 10'000; ++version) {
    ++counts[weighted.record_bytes(5, version)];
  }
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[20], 5000, 200);
  std::string value(300, '\0');
  weighted.write_record(5, 1, value.data(), value.size());
  EXPECT_TRUE(weighted.record_matches(5, value));
  EXPECT_FALSE(weighted.record_matches(6, value));
  EXPECT_FALSE(weighted.record_matches(5, value + "x"));
}

TEST(ScanLengths, OfMixgraphFollowTheParetoDistributionFolded) {
  WorkloadSpec spec;
  spec.mix.read = spec.mix.update = 0;
  spec.mix.scan = 1;
  spec.mix.scan_lengths = ScanLengths::pareto;
  spec.mix.max_scan_length = 10'000;
  spec.operation_count = 100'000;
  SharedWorkload shared(spec);
  OperationSource source(shared, 0, 1);
  double at_most_median = 0;
  const double median = spec.mix.scan_pareto.quantile(0.5);
  while (const auto operation = source.next()) {
    ASSERT_GE(operation->scan_length, 1U);
    ASSERT_LE(operation->scan_length, 10'000U);
    at_most_median += operation->scan_length <= median ? 1 : 0;
  }
  // Folding moves the part above the limit, a twentieth, evenly below it: hardly any of it to below the median.
  EXPECT_NEAR(at_most_median / 100'000, 0.5, 0.015);
}

TEST(SineRate, OperationsAreDueWhenTheIntegralSaysSo) {
  const SineRate sine{800, 0.7, 1.1};
  constexpr double kMean = 1000;
  double sum = 0;
  constexpr double kStep_s = 1e-4;
  for (int i = 0; i < 50'000; ++i) {
    sum += sine.rate(kMean, (i + 0.5) * kStep_s) * kStep_s;
  }
  EXPECT_NEAR(sine.operations(kMean, 5), sum, 0.01);
  double at_s = 0;
  for (double wanted = 0; wanted < 20'000; wanted += 1.5) {
    const double next_s = sine.time_of(kMean, wanted, at_s);
    ASSERT_GE(next_s, at_s);
    ASSERT_NEAR(sine.operations(kMean, next_s), wanted, 1e-5);
    at_s = next_s;
  }
  const SineRate flat{500, 0, 1};
  EXPECT_NEAR(flat.time_of(kMean, 100, 0), 100 / (kMean + 500 * std::sin(1)), 1e-9);
}

TEST(SineRate, PacedThreadsTogetherFollowIt) {
  for (const Arrivals arrivals : {Arrivals::constant, Arrivals::poisson}) {
    PacerOptions options{
        .rate_per_s = 10'000, .arrivals = arrivals, .sine = {9'000, 2 * M_PI, 0}, .threads = 3};
    std::vector<double> by_quarter(4);
    for (options.index = 0; options.index < options.threads; ++options.index) {
      Pacer pacer(options);
      pacer.start(0);
      while (pacer.next_ns() < 2'000'000'000) {
        by_quarter[pacer.send(0) % 1'000'000'000 / 250'000'000] += 1;
      }
    }
    // A quarter of a period has its mean, and a / (pi / 2) more or less.
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const double wanted = 2 * (2'500 + (quarter < 2 ? 1 : -1) * 9'000 / (2 * M_PI));
      EXPECT_NEAR(by_quarter[quarter], wanted, arrivals == Arrivals::constant ? 4 : 250) << quarter;
    }
  }
}

}  // namespace
}  // namespace mxkv::bench

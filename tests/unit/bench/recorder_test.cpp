// A thread's counts land in the second of the reply, and nothing of the warm-up is measured.
#include "bench/client/recorder.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kStart = 77'000'000'123;
constexpr std::uint64_t kS = 1'000'000'000;

struct Fixture {
  explicit Fixture(bool paced = false) : recorder(std::make_unique<Recorder>(series, paced)) {}
  void read_at(std::uint64_t offset_ns, Outcome outcome = Outcome::ok,
               std::uint64_t latency_ns = 1000) const {
    recorder->tick(kStart + offset_ns);
    recorder->current().of(OperationKind::read).record(outcome, latency_ns);
  }

  SharedSeries series;
  std::unique_ptr<Recorder> recorder;
};

TEST(Recorder, CountsEachOperationInTheSecondOfItsReply) {
  const Fixture fixture;
  fixture.recorder->start(kStart, 0);
  for (const std::uint64_t at : {0 * kS, kS - 1, kS, 3 * kS + 5}) {
    fixture.read_at(at);
  }
  fixture.recorder->finish(kStart + 3 * kS + kS / 2);
  const Series series = fixture.series.all();
  ASSERT_EQ(series.size(), 4U);
  const std::uint64_t operations[] = {2, 1, 0, 1};
  for (std::size_t i = 0; i < series.size(); ++i) {
    EXPECT_EQ(series[i].operations, operations[i]) << i;
    EXPECT_EQ(series[i].length_ns, i < 3 ? kS : kS / 2) << i;
  }
  EXPECT_EQ(fixture.recorder->measured().operations(), 4U);
  EXPECT_EQ(fixture.recorder->operations(), 4U);
}

TEST(Recorder, LeavesTheWarmupOutButItsFailuresIn) {
  const Fixture fixture;
  constexpr std::uint64_t kWarmup = kS + kS / 2;
  fixture.recorder->start(kStart, kWarmup);
  fixture.read_at(5);
  fixture.read_at(kS + 5, Outcome::wrong);
  fixture.read_at(kWarmup - 1, Outcome::not_found);
  fixture.read_at(kWarmup);
  fixture.read_at(kWarmup + kS);
  fixture.recorder->finish(kStart + kWarmup + kS + 10);
  EXPECT_EQ(fixture.recorder->warmup().operations, 3U);
  EXPECT_EQ(fixture.recorder->warmup().failures, 1U);
  EXPECT_EQ(fixture.recorder->warmup().misses, 1U);
  EXPECT_EQ(fixture.recorder->measured().operations(), 2U);
  EXPECT_EQ(fixture.recorder->operations(), 5U);
  const Series series = fixture.series.all();
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].operations, 1U);
  EXPECT_EQ(series[1].operations, 1U);
  EXPECT_EQ(series[1].length_ns, 10U);
}

TEST(Recorder, ARunThatEndsWithinItsWarmupMeasuresNothing) {
  const Fixture fixture;
  fixture.recorder->start(kStart, 10 * kS);
  fixture.read_at(3 * kS);
  fixture.recorder->finish(kStart + 4 * kS);
  EXPECT_EQ(fixture.recorder->measured().operations(), 0U);
  EXPECT_EQ(fixture.recorder->warmup().operations, 1U);
  EXPECT_TRUE(fixture.series.all().empty());
}

TEST(Recorder, SecondsOfAPacedRunHaveTheLatenciesFromTheDueTime) {
  const Fixture fixture(true);
  fixture.recorder->start(kStart, 0);
  fixture.read_at(1, Outcome::ok, 50);
  fixture.recorder->current().of(OperationKind::read).intended.record(200);
  fixture.recorder->finish(kStart + 10);
  EXPECT_EQ(fixture.series.all()[0].all().max(), 200U);
  EXPECT_EQ(fixture.recorder->measured().of(OperationKind::read).latency.max(), 50U);
}

}  // namespace
}  // namespace mxkv::bench

// Watches of ranges in hundreds of worlds on one thread; see feed_world.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/feed_world.hpp"
#include "tests/simulation/seeds.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::uint64_t kParts = 2;

class FeedSimulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FeedSimulation, WatchesAreToldOfEveryChangeInOrder) {
  const Seeds seeds = Seeds::from_environment();
  FeedReport sum;
  for (std::uint64_t at = GetParam(); at < seeds.count && (seeds.go_on || !HasFailure()); at += kParts) {
    const FeedReport report = run_feed_world(seeds.first + at);
    SCOPED_TRACE(Seeds::alone(seeds.first + at));
    EXPECT_THAT(report.complaints, ::testing::IsEmpty());
    sum.add(report);
  }
  if (seeds.count < kFewestToJudge || HasFailure()) {
    return;
  }
  const std::uint64_t worlds = seeds.count / kParts;
  EXPECT_GT(sum.watches, worlds * 3);
  EXPECT_GT(sum.told, worlds * 50);
  EXPECT_GT(sum.marks, worlds * 3);
  EXPECT_GT(sum.batches, worlds / 2);
  EXPECT_GT(sum.ranges, worlds / 2);
  EXPECT_GT(sum.returns, worlds / 4);
  EXPECT_GT(sum.falls, worlds / 10);
  EXPECT_GT(sum.old, worlds / 20);
  EXPECT_GT(sum.gaps, 0U);
  EXPECT_GT(sum.switches, worlds);
}

INSTANTIATE_TEST_SUITE_P(Parts, FeedSimulation, ::testing::Range(std::uint64_t{0}, kParts),
                         [](const auto& part) { return "Part" + std::to_string(part.param); });

TEST(FeedSimulationItself, ASeedGivesTheSameWorldEachTime) {
  for (std::uint64_t seed = 0; seed < usual_seeds() / 20; ++seed) {
    EXPECT_EQ(run_feed_world(seed).fingerprint, run_feed_world(seed).fingerprint) << Seeds::alone(seed);
  }
}

struct FeedMistake {
  feed_fault what;
  const char* name;
};

class FeedFault : public ::testing::TestWithParam<FeedMistake> {};

TEST_P(FeedFault, IsFoundWithinTheUsualSeeds) {
  for (std::uint64_t seed = 0; seed < kMostSeeds; ++seed) {
    if (!run_feed_world(seed, GetParam().what).complaints.empty()) {
      RecordProperty("seed", static_cast<int>(seed));
      return;
    }
  }
  ADD_FAILURE() << "no world noticed";
}

INSTANTIATE_TEST_SUITE_P(Mistakes, FeedFault,
                         ::testing::Values(FeedMistake{feed_fault::no_waits, "NoWaits"},
                                           FeedMistake{feed_fault::late_now, "LateNow"},
                                           FeedMistake{feed_fault::early_mark, "EarlyMark"}),
                         [](const auto& mistake) { return mistake.param.name; });

}  // namespace
}  // namespace mxkv::simulation

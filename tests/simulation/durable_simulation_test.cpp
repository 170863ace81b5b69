// Stores that are to survive, in thousands of worlds; see durable_world.hpp and README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "tests/simulation/durable_world.hpp"
#include "tests/simulation/seeds.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::uint64_t kParts = 2;
constexpr std::size_t kTold = 300;  ///< of a complaint, where seeds are only counted

void print(const DurableReport& sum) {
  std::cout << "starts " << sum.starts << ", operations " << sum.operations << ", given up " << sum.given_up
            << ", released " << sum.released << ", lost changes " << sum.lost_changes << ", groups "
            << sum.groups << ", cuts " << sum.cuts << ", kills " << sum.kills << ", clean ends "
            << sum.clean_ends << ", cut starts " << sum.cut_starts << ", cut checkpoints "
            << sum.cut_checkpoints << ", cut renames " << sum.cut_renames << ", torn " << sum.torn << ", gaps "
            << sum.gaps << ", failures " << sum.failures << ", rebased " << sum.rebased << ", no space "
            << sum.no_space << ", refusals " << sum.refusals << ", checkpoints " << sum.checkpoints
            << ", failed " << sum.failed_checkpoints << ", from checkpoint " << sum.from_checkpoint
            << ", amid " << sum.amid << ", recycled " << sum.recycled << ", removed " << sum.removed << '\n';
}

/// A part of the seeds, so that parts can run at the same time.
class DurableSimulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DurableSimulation, EveryStartFindsAllThatWasAnsweredAndNothingHalf) {
  const Seeds seeds = Seeds::from_environment();
  DurableReport sum;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count && (seeds.go_on || !HasFailure());
       ++seed) {
    if (seed % kParts != GetParam()) {
      continue;
    }
    const DurableReport report = run_durable_world(seed);
    if (seeds.go_on && !report.complaints.empty()) {
      ADD_FAILURE() << "seed " << seed << ": " << report.complaints.front().substr(0, kTold);
    } else {
      SCOPED_TRACE(Seeds::alone(seed));
      EXPECT_THAT(report.complaints, ::testing::IsEmpty());
    }
    sum.add(report);
  }
  if (seeds.go_on) {
    print(sum);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, DurableSimulation, ::testing::Range(std::uint64_t{0}, kParts),
                         [](const auto& part) { return "Part" + std::to_string(part.param); });

}  // namespace
}  // namespace mxkv::simulation

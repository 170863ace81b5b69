// The whole runtime under a whole tree, in thousands of worlds on one thread; see world.hpp and README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/paths.hpp"
#include "tests/simulation/paths_taken.hpp"
#include "tests/simulation/seeds.hpp"
#include "tests/simulation/worlds.hpp"

namespace mxkv::simulation {
namespace {

/// The first kinds. A fold is undone in their trees, in one world of 50. The other kinds' nodes are too large for it.
constexpr std::uint64_t kKindsOfSmallNodes = 2;

/// The kind whose leaves often begin with their low fence: those do not merge.
constexpr std::uint64_t kIntegersInSmallNodes = 0;

/// A part of the seeds, so that parts can run at the same time.
class Simulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulation, EverySeedIsLinearizableAndLosesNothing) {
  const Seeds seeds = Seeds::from_environment();
  Report sum;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count && !HasFailure(); ++seed) {
    if (seed % kKinds != GetParam()) {
      continue;
    }
    SCOPED_TRACE(Seeds::alone(seed));
    const Report report = run_world(seed);
    EXPECT_THAT(report.complaints, ::testing::IsEmpty());
    sum.add(report);
  }
  if (seeds.count < kFewestToJudge || HasFailure()) {
    return;
  }
  // Rare events must have happened, and often: in fewer worlds that says nothing.
  const std::uint64_t worlds = seeds.count / kKinds;
  const bool all = seeds.count >= kMostSeeds;
  const std::uint64_t least = all ? worlds : worlds / 3;  // in few worlds rare things scatter
  EXPECT_GT(sum.interruptions, least);
  EXPECT_GT(sum.parks, least);
  EXPECT_GT(sum.worker_wakes, least);
  EXPECT_GT(sum.pools_stolen, least);
  EXPECT_GT(sum.immediate_of_others, least / 4);
  EXPECT_GT(sum.deferred, least);
  EXPECT_GT(sum.deferred_far, least / 4);
  EXPECT_GT(sum.pools_moved, least);
  if (all) {
    EXPECT_GT(sum.objects_moved, 0U);
  }
  EXPECT_GT(sum.forwarded, least);
  EXPECT_GT(sum.retries, least);
  EXPECT_GT(sum.reclaimed, least);
  EXPECT_GT(sum.misplaced, least);
  EXPECT_GT(sum.stage_conflicts, least / 4);
  EXPECT_GT(sum.out_of_memory, least / 4);
  EXPECT_GT(sum.deep_trees, least / 10);
  EXPECT_GT(sum.unlinked, least);
  EXPECT_GT(sum.merged, GetParam() == kIntegersInSmallNodes ? 0 : least / 4);
  if (all) {
    EXPECT_GT(sum.folded, least / 100);
    EXPECT_TRUE(sum.fold_undone > 0 || GetParam() >= kKindsOfSmallNodes);
  }
  EXPECT_GT(sum.unlink_waits, least);
  EXPECT_GT(sum.turned, least / 4);
}

INSTANTIATE_TEST_SUITE_P(Trees, Simulation, ::testing::Range(std::uint64_t{0}, std::uint64_t{kKinds}),
                         [](const auto& kind) { return "Kind" + std::to_string(kind.param); });

TEST(SimulationItself, ASeedGivesTheSameWorldEachTime) {
  for (std::uint64_t seed = 0; seed < usual_seeds() / 10; ++seed) {
    EXPECT_EQ(run_world(seed).fingerprint, run_world(seed).fingerprint) << Seeds::alone(seed);
  }
}

TEST(SimulationItself, UndoesFoldsOfEachKindOfSmallNodes) {
  if (kSanitized) {
    GTEST_SKIP() << "in too few worlds";
  }
  for (std::uint64_t kind = 0; kind < kKindsOfSmallNodes; ++kind) {
    std::uint64_t undone = 0;
    for (std::uint64_t seed = kind; seed < kMostSeeds && undone == 0; seed += kKinds) {
      undone = run_world(seed).fold_undone;
    }
    EXPECT_GT(undone, 0U) << "kind " << kind;
  }
}

TEST(SimulationItself, TakesTheRarePathsOfLeavesThatOverflowOrMerge) {
  if (!runtime::paths::kCounted || kSanitized) {
    GTEST_SKIP() << "paths are not counted, or in too few worlds";
  }
  using runtime::path;
  const runtime::paths::Counts before = runtime::paths::all();
  const auto never = [&before] {
    return never_taken(
        before, {path::overflow_share, path::overflow_three, path::overflow_lost, path::overflow_of_claimed,
                 path::unlink_of_overflowed, path::scan_skips_visited, path::split_by_blocks,
                 path::merge_into_one, path::merge_into_two, path::merge_lost, path::merge_not_below_one,
                 path::merge_too_full, path::merge_at_fence, path::merge_no_memory});
  };
  for (std::uint64_t seed = 0; seed < kMostSeeds && !never().empty(); ++seed) {
    static_cast<void>(run_world(seed));
  }
  EXPECT_THAT(never(), ::testing::IsEmpty());
}

struct Fault {
  fault what;
  const char* name;
  const char* complaint;  ///< one of those that it must cause
};

class SimulationFault : public ::testing::TestWithParam<Fault> {};

TEST_P(SimulationFault, IsFoundWithinAFewSeeds) {
  const auto complaint = ::testing::Contains(::testing::HasSubstr(GetParam().complaint));
  Report sum;
  for (std::uint64_t seed = 0; seed < 100 && !::testing::Value(sum.complaints, complaint); ++seed) {
    sum.add(run_world(seed, GetParam().what));
  }
  EXPECT_THAT(sum.complaints, complaint);
}

INSTANTIATE_TEST_SUITE_P(
    Made, SimulationFault,
    ::testing::Values(Fault{fault::lost_wake_up, "LostWakeUp", "waits though everybody sleeps"},
                      Fault{fault::lost_task, "LostTask", "ended 0 times"},
                      Fault{fault::task_run_twice, "TaskRunTwice", "a task ran twice"},
                      Fault{fault::unguarded_write, "UnguardedWrite", "a read is torn"},
                      Fault{fault::forgotten_pin, "ForgottenPin", "freed while it was held"},
                      Fault{fault::kept_pin, "KeptPin", "a pin was never left"},
                      Fault{fault::kept_block, "KeptBlock", "items leaked"},
                      Fault{fault::early_start, "EarlyStart", "a task did not wait for its join"}),
    [](const auto& made) { return std::string{made.param.name}; });

}  // namespace
}  // namespace mxkv::simulation

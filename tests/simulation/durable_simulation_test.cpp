// Durable stores, in thousands of worlds; see durable_world.hpp and README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "tests/simulation/durable_world.hpp"
#include "tests/simulation/paths_taken.hpp"
#include "tests/simulation/seeds.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::uint64_t kParts = 4;
constexpr std::size_t kTold = 300;  ///< of a complaint, where seeds are only counted

void print(const DurableReport& sum) {
  std::cout << "starts " << sum.starts << ", operations " << sum.operations << ", given up " << sum.given_up
            << ", released " << sum.released << ", lost changes " << sum.lost_changes << ", groups "
            << sum.groups << ", cuts " << sum.cuts << ", kills " << sum.kills << ", clean ends "
            << sum.clean_ends << ", cut starts " << sum.cut_starts << ", cut checkpoints "
            << sum.cut_checkpoints << ", cut renames " << sum.cut_renames << ", full starts "
            << sum.full_starts << ", too full " << sum.full_refusals << ", lost newest " << sum.lost_newest
            << ", torn " << sum.torn << ", gaps " << sum.gaps << ", failures " << sum.failures << ", rebased "
            << sum.rebased << ", no space " << sum.no_space << ", refusals " << sum.refusals
            << ", checkpoints " << sum.checkpoints << ", failed " << sum.failed_checkpoints
            << ", from checkpoint " << sum.from_checkpoint << ", amid " << sum.amid << ", recycled "
            << sum.recycled << ", removed " << sum.removed << ", told " << sum.told << ", later "
            << sum.told_later << ", batches " << sum.told_batches << ", resumed " << sum.resumed << ", old "
            << sum.old << ", lost " << sum.lost << "; watches " << sum.watches.watches << ", marks "
            << sum.watches.marks << ", told " << sum.watches.told << ", batches " << sum.watches.batches
            << ", ranges " << sum.watches.ranges << ", later " << sum.watches.later << ", old "
            << sum.watches.old << ", lost " << sum.watches.lost << ", falls " << sum.watches.falls
            << ", gaps " << sum.watches.gaps << '\n';
}

/// A part of the seeds, so that parts can run at the same time.
class DurableSimulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DurableSimulation, EveryStartFindsAllThatWasAnsweredAndNothingHalf) {
  const Seeds seeds = Seeds::from_environment();
  DurableReport sum;
  const runtime::paths::Counts before = runtime::paths::all();
  const std::uint64_t behind = seeds.first + seeds.count;
  for (std::uint64_t seed = seeds.first + (GetParam() + kParts - seeds.first % kParts) % kParts;
       seed < behind; seed += kParts) {
    const DurableReport report = run_durable_world(seed);
    sum.add(report);
    if (report.complaints.empty()) {
      continue;
    }
    ADD_FAILURE() << (seeds.go_on ? "seed " + std::to_string(seed) + ": " : Seeds::alone(seed) + "\n")
                  << (seeds.go_on ? report.complaints.front().substr(0, kTold)
                                  : ::testing::PrintToString(report.complaints));
    if (!seeds.go_on) {
      break;
    }
  }
  if (seeds.go_on) {
    print(sum);
  }
  if (seeds.count < kFewestToJudge || HasFailure()) {
    return;
  }
  // Rare events must have happened: in fewer worlds that says nothing.
  const std::uint64_t worlds = seeds.count / kParts;
  const bool all = seeds.count >= kMostSeeds;
  const std::uint64_t least = all ? worlds : worlds / 3;  // in few worlds rare things scatter
  EXPECT_GT(sum.starts, least * 2);
  EXPECT_GT(sum.operations, least * 20);
  EXPECT_LT(sum.given_up, worlds / 2);
  EXPECT_GT(sum.released, least / 2);
  EXPECT_GT(sum.lost_changes, least / 2);
  EXPECT_GT(sum.groups, least);
  EXPECT_GT(sum.cuts, least);
  EXPECT_GT(sum.kills, least / 2);
  EXPECT_GT(sum.clean_ends, least / 20);
  EXPECT_GT(sum.cut_starts, least / 4);
  EXPECT_GT(sum.cut_checkpoints, least / 2);
  EXPECT_GT(sum.cut_renames, least / 50);
  EXPECT_GT(sum.full_starts, least / 10);
  EXPECT_GT(sum.lost_newest, least / 4);
  if (all) {
    EXPECT_GT(sum.torn, 0U);
    EXPECT_GT(sum.gaps, least / 200);
    EXPECT_GT(sum.told_later, 0U);
    EXPECT_GT(sum.old, 0U);
    EXPECT_GT(sum.lost, 0U);
    EXPECT_GT(sum.watches.lost, 0U);
  }
  EXPECT_GT(sum.failures, least / 50);
  EXPECT_GT(sum.rebased, least / 50);
  EXPECT_GT(sum.no_space, least / 20);
  EXPECT_GT(sum.refusals, least / 100);
  EXPECT_GT(sum.checkpoints, least);
  EXPECT_GT(sum.failed_checkpoints, least / 50);
  EXPECT_GT(sum.from_checkpoint, least / 2);
  EXPECT_GT(sum.amid, least / 20);
  EXPECT_GT(sum.recycled, least / 4);
  EXPECT_GT(sum.removed, least);
  EXPECT_GT(sum.told, least);
  EXPECT_GT(sum.told_batches, least / 20);
  EXPECT_GT(sum.resumed, least / 20);
  // Watches of ranges have met all that the herald may meet in a journal.
  EXPECT_GT(sum.watches.watches, least * 4);
  EXPECT_GT(sum.watches.marks, least * 4);
  EXPECT_GT(sum.watches.told, least * 10);
  EXPECT_GT(sum.watches.batches, least / 4);
  EXPECT_GT(sum.watches.ranges, least / 4);
  EXPECT_GT(sum.watches.later, least / 4);
  EXPECT_GT(sum.watches.falls, least / 4);
  EXPECT_GT(sum.watches.old, least / 20);
  EXPECT_GT(sum.watches.gaps, least / 20);
  if (runtime::paths::kCounted) {  // the short ways of reads respect changes that are not durable
    using runtime::path;
    EXPECT_THAT(never_taken(before, {path::get_usual, path::meta_get_usual, path::scan_plain_run}),
                ::testing::IsEmpty());
  }
}

struct Mistake {
  durable_mistake what;
  const char* name;
  const char* complaint;
};

class DurableMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(DurableMistake, IsFoundWithinTwoThousandSeeds) {
  const auto complaint = ::testing::Contains(::testing::HasSubstr(GetParam().complaint));
  DurableReport sum;
  for (std::uint64_t seed = 0; seed < 2000 && !::testing::Value(sum.complaints, complaint); ++seed) {
    sum.add(run_durable_world(seed, GetParam().what));
  }
  EXPECT_THAT(sum.complaints, complaint);
}

INSTANTIATE_TEST_SUITE_P(Made, DurableMistake,
                         ::testing::Values(Mistake{durable_mistake::end_is_not_kept, "EndIsNotKept",
                                                   "the newest segment is lost, and a start misses nothing"},
                                           Mistake{durable_mistake::end_is_kept_too_early,
                                                   "EndIsKeptTooEarly", "a start is refused: journal/"},
                                           Mistake{durable_mistake::keys_mint_alone, "KeysMintAlone",
                                                   "a key's changes are told out of order"},
                                           Mistake{durable_mistake::tag_is_not_compared, "TagIsNotCompared",
                                                   "a position of a history that was lost is taken"},
                                           Mistake{durable_mistake::hole_is_passed_over, "HoleIsPassedOver",
                                                   "an epoch is left out, or told twice"},
                                           Mistake{durable_mistake::watch_passes_hole, "WatchPassesHole",
                                                   "a watch was told of"}),
                         [](const auto& made) { return std::string{made.param.name}; });

INSTANTIATE_TEST_SUITE_P(Parts, DurableSimulation, ::testing::Range(std::uint64_t{0}, kParts),
                         [](const auto& part) { return "Part" + std::to_string(part.param); });

}  // namespace
}  // namespace mxkv::simulation

// The whole store in thousands of worlds on one thread; see store_world.hpp and README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "runtime/base/paths.hpp"
#include "tests/simulation/seeds.hpp"
#include "tests/simulation/store_world.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::uint64_t kParts = 4;
constexpr std::size_t kTold = 200;  ///< of a complaint, where seeds are only counted

/// A part of the seeds, so that parts can run at the same time.
class StoreSimulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(StoreSimulation, EverySeedIsLinearizableAndHoldsNothing) {
  const Seeds seeds = Seeds::from_environment();
  StoreReport sum;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count && (seeds.go_on || !HasFailure());
       ++seed) {
    if (seed % kParts != GetParam()) {
      continue;
    }
    const StoreReport report = run_store_world(seed);
    if (seeds.go_on && !report.complaints.empty()) {
      ADD_FAILURE() << "seed " << seed << ": " << report.complaints.front().substr(0, kTold);
    } else {
      SCOPED_TRACE(Seeds::alone(seed));
      EXPECT_THAT(report.complaints, ::testing::IsEmpty());
    }
    sum.add(report);
  }
  if (seeds.count < kFewestToJudge || HasFailure()) {
    return;
  }
  // Rare events must have happened, and often: in fewer worlds that says nothing.
  const std::uint64_t worlds = seeds.count / kParts;
  const bool all = seeds.count >= kMostSeeds;
  const std::uint64_t least = all ? worlds : worlds / 3;  // in few worlds rare things scatter
  EXPECT_GT(sum.recorded, least * 20);
  EXPECT_LE(sum.given_up, all ? worlds / 50 : 1 + worlds / 20);
  EXPECT_GT(sum.batches, least * 2);
  EXPECT_GT(sum.failed_batches, least);
  EXPECT_GT(sum.refused_lines, all ? least / 10 : 0U);
  EXPECT_GT(sum.refused_batches, all ? least / 10 : 0U);
  EXPECT_GT(sum.refused_midway, least / 100);
  if (all) {  // one in a hundred worlds: in few there may be none
    EXPECT_GT(sum.refused_touches, 0U);
  }
  EXPECT_GT(sum.pages, least);
  EXPECT_GT(sum.counts, least / 4);
  EXPECT_GT(sum.erased, least / 4);
  EXPECT_GT(sum.touched, least / 4);
  EXPECT_GT(sum.cut_off, least / 10);
  EXPECT_GT(sum.parked_writes, least);
  EXPECT_GT(sum.of_many_buckets, least);
  EXPECT_GT(sum.in_inner_mode, least);
  EXPECT_GT(sum.followed, least / 10);
  EXPECT_GT(sum.shared, least / 10);
  EXPECT_GT(sum.maps, least / 4);
  EXPECT_GT(sum.slots, least * 2);
  EXPECT_GT(sum.deep_trees, least / 10);
  EXPECT_GT(sum.moved, least);
  EXPECT_GT(sum.evicted, least);
  EXPECT_GT(sum.reclaimed, 0U);
  EXPECT_GT(sum.swept, 0U);
  EXPECT_GT(sum.preempted, least);
  for (const index::change what :
       {index::change::put, index::change::gone, index::change::touched, index::change::range_gone,
        index::change::range_touched, index::change::flushed, index::change::part, index::change::unseen}) {
    EXPECT_GT(sum.changes[what], least / 100) << static_cast<unsigned>(what);
  }
  EXPECT_GT(sum.interruptions, least / 10);
}

INSTANTIATE_TEST_SUITE_P(Parts, StoreSimulation, ::testing::Range(std::uint64_t{0}, kParts),
                         [](const auto& part) { return "Part" + std::to_string(part.param); });

TEST(StoreSimulationItself, ASeedGivesTheSameWorldEachTime) {
  for (std::uint64_t seed = 0; seed < usual_seeds() / 20; ++seed) {
    const StoreReport report = run_store_world(seed);
    if (!report.by_address) {
      EXPECT_EQ(run_store_world(seed).fingerprint, report.fingerprint) << Seeds::alone(seed);
    }
  }
}

/// Paths that the tree's own simulation takes: here tasks are seldom within so few steps of each other, and
/// leaves seldom as full.
bool is_the_trees(std::string_view path) {
  return path == "split_by_blocks" || path == "overflow_lost" || path == "overflow_of_claimed" ||
         path == "unlink_of_overflowed" || path == "scan_skips_visited" || path == "merge_lost" ||
         path == "merge_no_memory";
}

/// Worlds have no dumps: store_parts_test.cpp takes these.
bool is_of_dumps(std::string_view path) {
  return path.starts_with("dump_");
}

/// Paths that no world took, and how often worlds took the others, as text.
struct Paths {
  explicit Paths(const runtime::paths::Counts& before) {
    const runtime::paths::Counts now = runtime::paths::all();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::string name{runtime::paths::kNames[i]};
      if (is_the_trees(name) || is_of_dumps(name)) {
        continue;
      }
      (now[i] == before[i] ? never : often).push_back(name + " " + std::to_string(now[i] - before[i]));
    }
  }
  std::vector<std::string> never;
  std::vector<std::string> often;
};

TEST(StoreSimulationItself, TakesEveryPathWithinTheUsualSeeds) {
  if (!runtime::paths::kCounted || kSanitized) {
    GTEST_SKIP() << "paths are not counted, or in too few worlds";
  }
  const runtime::paths::Counts before = runtime::paths::all();
  const bool all = Seeds::from_environment().go_on;
  // The rarest one, a separator whose tree was flushed, comes in one of 400 worlds.
  for (std::uint64_t seed = 0; seed < 3 * kMostSeeds && (all || !Paths{before}.never.empty()); ++seed) {
    static_cast<void>(run_store_world(seed));
  }
  const Paths paths{before};
  for (const std::string& path : paths.often) {
    RecordProperty(path.substr(0, path.find(' ')), path.substr(path.find(' ') + 1));
    if (all) {
      std::cout << path << '\n';
    }
  }
  EXPECT_THAT(paths.never, ::testing::IsEmpty());
}

struct Fault {
  store_fault what;
  const char* name;
  const char* complaint;  ///< one of those that it must cause
};

class StoreFault : public ::testing::TestWithParam<Fault> {};

TEST_P(StoreFault, IsFoundWithinAFewSeeds) {
  const auto complaint = ::testing::Contains(::testing::HasSubstr(GetParam().complaint));
  StoreReport sum;
  for (std::uint64_t seed = 0; seed < 1'000 && !::testing::Value(sum.complaints, complaint); ++seed) {
    sum.add(run_store_world(seed, GetParam().what));
  }
  EXPECT_THAT(sum.complaints, complaint);
}

INSTANTIATE_TEST_SUITE_P(
    Made, StoreFault,
    ::testing::Values(Fault{store_fault::unasked_write, "UnaskedWrite", "during ["},
                      Fault{store_fault::torn_page, "TornPage", "during ["},
                      Fault{store_fault::torn_page, "TornPageOfABank", "a page shows another sum"},
                      Fault{store_fault::torn_count, "TornCount", "during ["},
                      Fault{store_fault::torn_count, "TornCountOfABank", "a count comes to another sum"},
                      Fault{store_fault::half_batch, "HalfBatch", "during ["},
                      Fault{store_fault::kept_slot, "KeptSlot", "a slot is not open"},
                      Fault{store_fault::lost_item, "LostItem", "during ["}),
    [](const auto& made) { return std::string{made.param.name}; });

}  // namespace
}  // namespace mxkv::simulation

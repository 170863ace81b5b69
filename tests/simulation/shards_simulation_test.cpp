// Clusters of several shards in which everything goes wrong, seed by seed, with the parts that a node runs
// above its shards' engines: acknowledged changes count for good, per key all answers are linearizable, never
// do two nodes serve a shard, and in the end all nodes hold the logs' contents. And the same with a rule
// broken.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/simulation/seeds.hpp"
#include "tests/simulation/shards_world.hpp"

namespace mxkv::simulation {
namespace {

std::string text_of(const ShardsVerdict& verdict) {
  std::string text;
  for (const std::string& complaint : verdict.complaints.all()) {
    text += complaint + '\n';
  }
  return text;
}

/// The first seed with a complaint, of `seeds`; `seeds` itself if there is none.
std::uint64_t first_complaint(ShardsPlan plan, std::uint64_t seeds) {
  for (plan.seed = 0; plan.seed < seeds && run_shards(plan).complaints.empty(); ++plan.seed) {
  }
  return plan.seed;
}

/// A world of these takes longer than others.
Seeds shards_seeds() {
  Seeds seeds = Seeds::from_environment();
  seeds.count = std::getenv("MXKV_SIMULATION_SEEDS") == nullptr ? usual_seeds() / 10 : seeds.count;
  return seeds;
}

TEST(ShardsSimulation, NothingAcknowledgedIsLostAndNothingStaleIsRead) {
  const Seeds seeds = shards_seeds();
  ShardsPaths paths;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const ShardsVerdict verdict = run_shards({.seed = seed, .rules = {}, .shard_rules = {}});
    if (!verdict.complaints.empty()) {
      ADD_FAILURE() << Seeds::alone(seed) << '\n' << text_of(verdict);
      if (!seeds.go_on) {
        return;
      }
    }
    paths.add(verdict.paths);
  }
  const ProcessPaths& all = paths.processes;
  const std::pair<const char*, std::uint64_t> taken[] = {
      {"answered", paths.answered},
      {"refused", paths.refused},
      {"unknown", paths.unknown},
      {"changes_that_are_void", paths.voids},
      {"held", all.workers.held},
      {"given_up", all.workers.given_up},
      {"parked", all.workers.parked},
      {"by_replica", all.workers.by_replica},
      {"overtaken_by_drops", all.workers.overtaken},
      {"overtaken_by_drops_of_copies", all.workers.overtaken_at_copies},
      {"thrown_away", all.hosted.thrown_away},
      {"void_groups", all.voided},
      {"fences_passed", all.failures},
      {"stranded", all.stranded},
      {"copies_dropped_for_lack_of_memory", all.lacked},
      {"opened", all.opened},
      {"left_in_order", all.left},
      {"slow_writes", all.workers.slow},
      {"stragglers", all.workers.stragglers},
      {"stayed", all.hosted.stayed},
      {"snapshots_taken", all.hosted.snapshots_taken},
      {"snapshots_loaded", all.hosted.snapshots_loaded},
      {"snapshots_failed", all.hosted.snapshots_failed},
      {"terms", all.shards.terms},
      {"claims_put_off", all.shards.spared},
      {"ousted", all.shards.ousted},
      {"gaps", all.shards.gaps},
      {"appended_again", all.shards.again},
      {"repeats", all.shards.repeats},
      {"void_messages", all.shards.voids},
      {"discarded", all.shards.discarded},
  };
  for (const auto& [name, count] : taken) {
    ::testing::Test::RecordProperty(name, static_cast<int>(count));
    if (!kSanitized && seeds.count >= kFewestToJudge / 10) {
      EXPECT_GT(count, 0) << name;
    }
  }
}

constexpr std::uint64_t kShardsSeedsToNotice = 500;

TEST(ShardsSimulation, NoticesALeaseThatIsAskedForBeforeTheRequestCame) {
  EXPECT_LT(
      first_complaint({.rules = {.asks_the_clock_late = false}, .shard_rules = {}}, kShardsSeedsToNotice),
      kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesRepliesThatAreNotGivenUp) {
  EXPECT_LT(
      first_complaint({.rules = {.gives_up_what_waits = false}, .shard_rules = {}}, kShardsSeedsToNotice),
      kShardsSeedsToNotice);
}

// A read is let in, its shard is lost and loaded again from an older snapshot, and then the read looks.
TEST(ShardsSimulation, NoticesReadsThatADropOvertakes) {
  EXPECT_LT(
      first_complaint({.rules = {.gives_up_under_way = false}, .shard_rules = {}}, kShardsSeedsToNotice),
      kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesReadsOfACopyThatADropOvertakes) {
  EXPECT_LT(first_complaint({.rules = {.gives_up_reads_of_copies = false}, .shard_rules = {}},
                            kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesSnapshotsThatAreToldBeforeTheyAreDurable) {
  EXPECT_LT(first_complaint({.rules = {}, .shard_rules = {.snapshots_wait = false}}, kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesMemoryThatIsThrownAwayUnderReads) {
  EXPECT_LT(first_complaint({.rules = {}, .shard_rules = {.drops_wait = false}}, kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesShardsThatAreLeftBeforeTheirWritesHaveEnded) {
  EXPECT_LT(first_complaint({.rules = {}, .shard_rules = {.leaving_waits = false}}, kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesFreshnessThatIsCountedFromTheAnswer) {
  EXPECT_LT(first_complaint({.rules = {}, .shard_rules = {.freshness = {.counts_from_asking = false}}},
                            kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesFreshnessOfWhatIsNotInMemory) {
  EXPECT_LT(first_complaint({.rules = {}, .shard_rules = {.freshness = {.waits_for_memory = false}}},
                            kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

TEST(ShardsSimulation, NoticesAMarginThatIsTooSmall) {
  EXPECT_LT(first_complaint({.margin_permille = 1000, .rules = {}, .shard_rules = {}}, kShardsSeedsToNotice),
            kShardsSeedsToNotice);
}

}  // namespace
}  // namespace mxkv::simulation

// Clusters of one shard in which everything goes wrong, seed by seed: acknowledged changes count for good,
// per key all answers are linearizable, never do two nodes serve the shard, and changes that are called void
// are void. And the same with a rule broken: a proof that does not notice proves nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/simulation/cluster_world.hpp"
#include "tests/simulation/seeds.hpp"

namespace mxkv::simulation {
namespace {

std::string text_of(const ClusterVerdict& verdict) {
  std::string text;
  for (const std::string& complaint : verdict.complaints.all()) {
    text += complaint + '\n';
  }
  return text;
}

/// The first seed with a complaint, of `seeds`; `seeds` itself if there is none.
std::uint64_t first_complaint(ClusterPlan plan, std::uint64_t seeds) {
  for (plan.seed = 0; plan.seed < seeds && run_cluster(plan).complaints.empty(); ++plan.seed) {
  }
  return plan.seed;
}

TEST(ClusterSimulation, NothingAcknowledgedIsLostAndNothingStaleIsRead) {
  const Seeds seeds = Seeds::from_environment();
  ClusterPaths paths;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const ClusterVerdict verdict = run_cluster({.seed = seed, .rules = {}});
    if (!verdict.complaints.empty()) {
      ADD_FAILURE() << Seeds::alone(seed) << '\n' << text_of(verdict);
      if (!seeds.go_on) {
        return;
      }
    }
    paths.add(verdict.paths);
  }
  RecordProperty("answered", static_cast<int>(paths.answered));
  RecordProperty("terms", static_cast<int>(paths.shards.terms));
  if (seeds.count < kFewestToJudge) {
    return;
  }
  const std::uint64_t some = seeds.count / 2;
  EXPECT_GT(paths.answered, 20 * some);
  EXPECT_GT(paths.refused, some);
  EXPECT_GT(paths.voids, some / 10);
  EXPECT_GT(paths.unknown, some);
  EXPECT_GT(paths.shards.claims, some);
  EXPECT_GT(paths.shards.spared, some / 10);
  EXPECT_GT(paths.shards.terms, 2 * some);
  EXPECT_GT(paths.shards.ousted, some / 2);
  EXPECT_GT(paths.shards.yielded, some / 10);
  EXPECT_GT(paths.shards.straight, 20 * some);
  EXPECT_GT(paths.shards.gaps, some);
  EXPECT_GT(paths.shards.again, some / 2);
  EXPECT_GT(paths.shards.repeats, some / 2);
  EXPECT_GT(paths.shards.voids, some / 2);
  EXPECT_GT(paths.shards.discarded, some / 10);
}

constexpr std::uint64_t kSeedsToNotice = 2000;

TEST(ClusterSimulation, NoticesAnswersWithoutALookIntoGaps) {
  EXPECT_LT(first_complaint({.rules = {.reads_gaps = false}}, kSeedsToNotice), kSeedsToNotice);
}

TEST(ClusterSimulation, NoticesLeasesFromWhenTheAnswerCame) {
  EXPECT_LT(first_complaint({.rules = {.lease_from_sending = false}}, kSeedsToNotice), kSeedsToNotice);
}

TEST(ClusterSimulation, NoticesLeasesThatEachNodeCountsByItsOwn) {
  EXPECT_LT(first_complaint({.rules = {.waits_by_the_owners_lease = false}}, kSeedsToNotice), kSeedsToNotice);
}

TEST(ClusterSimulation, NoticesAShorterLeaseThatItsOwnerFollowsLate) {
  EXPECT_LT(first_complaint({.rules = {.lease_shrinks_at_once = false}}, kSeedsToNotice), kSeedsToNotice);
}

// Clocks run at 0.95 to 1.05: a lease and a twentieth by one clock is less than the lease by another.
TEST(ClusterSimulation, NoticesAMarginThatIsTooSmall) {
  EXPECT_LT(first_complaint({.margin_permille = 1000, .rules = {}}, kSeedsToNotice), kSeedsToNotice);
  EXPECT_LT(first_complaint({.margin_permille = 1050, .rules = {}}, kSeedsToNotice), kSeedsToNotice);
}

}  // namespace
}  // namespace mxkv::simulation

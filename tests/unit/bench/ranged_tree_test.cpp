// The workers that run the tasks of a bucket, by Toggle with hosts.
#include "bench/figures/ranged_tree.hpp"

#include <gtest/gtest.h>

namespace mxkv::bench {
namespace {

TEST(TreeComparison, HostsRunAllTasksOfOneBucketAndNobodyElse) {
  RangedTree tree{k_ary_tree(10'000, 4)};
  TreeComparison comparison;
  const RunOptions options{.workers = 2, .operations = 500, .buckets = 2, .hosts = true, .stealing = false};
  comparison.by_toggle(tree, {.one_of = 2}, options);
  EXPECT_EQ(comparison.shares(), (std::vector<double>{100, 0}));
  EXPECT_EQ(comparison.away(), 0);
  comparison.by_toggle(tree, {.nodes = 1}, options);
  EXPECT_GT(comparison.shares()[1], 25) << "half of the nodes are in the second bucket";
}

TEST(TreeComparison, EachTaskIsCountedOnceInWhateverManner) {
  RangedTree tree{k_ary_tree(1'000, 4)};
  TreeComparison comparison;
  for (const bool hosts : {true, false}) {
    comparison.by_toggle(tree, {}, {.workers = 2, .operations = 300, .hosts = hosts});
    EXPECT_NEAR(comparison.shares()[0] + comparison.shares()[1], 100, 1e-9);
  }
  comparison.in_turn(tree, {}, {.workers = 2, .operations = 300});
  EXPECT_EQ(comparison.shares(), (std::vector<double>{50, 50}));
}

}  // namespace
}  // namespace mxkv::bench

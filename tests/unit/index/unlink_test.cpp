// Deleted entries leave nothing behind: empty leaves and inner nodes with one child go, so that the number of
// nodes follows the number of entries, and their memory comes back.
#include <algorithm>

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

/// Ascending keys; byte keys in families, so that nodes have prefixes that change.
std::uint64_t nth_key(std::uint64_t /*kind*/, std::uint64_t n) {
  return 1000 + 3 * n;
}
std::string nth_key(const std::string& /*kind*/, std::uint64_t n) {
  std::string key = std::to_string(1'000'000 + n);
  key.insert(4, n / 100 % 2 == 0 ? "-a-long-part-in-the-middle-" : "-b");
  return key;
}

template <class Env>
class UnlinkTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  static OwnedKey key(std::uint64_t n) { return nth_key(OwnedKey{}, n); }

  static CheckReport check(Under& tree) {
    tree.driver().settle();
    return Checker<typename Env::Traits>::check(tree.tree());
  }
  static std::size_t nodes(Under& tree) { return check(tree).nodes; }
  static void reclaim(Under& tree) {
    for (int i = 0; i < 10; ++i) {
      tree.driver().clock().advance_us(100'000);
      tree.driver().settle();
    }
  }
};

using UnlinkEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 2, 3, false>>,
                     IntegerEnv<>, ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<NodeShape<3, 2, 3, true>>,
                     ByteEnv<>>;
TYPED_TEST_SUITE(UnlinkTest, UnlinkEnvs);

TYPED_TEST(UnlinkTest, AWindowOfKeysThatSlidesKeepsTheNumberOfNodesBounded) {
  constexpr std::uint64_t kWindow = 60;
  constexpr std::uint64_t kWindows = kSlowRuns ? 40 : 120;
  typename TestFixture::Under tree;
  std::size_t most[2] = {};  // in the first and the second half
  std::size_t filled = 0;
  for (std::uint64_t n = 0; n < kWindows * kWindow; ++n) {
    tree.apply(this->key(n), verb::upsert, n);
    if (n >= kWindow) {
      ASSERT_TRUE(tree.apply(this->key(n - kWindow), verb::remove).found);
    }
    if (n % kWindow == 0) {
      std::size_t& here = most[2 * n < kWindows * kWindow ? 0 : 1];
      here = std::max(here, this->nodes(tree));
    }
    filled = n == kWindow ? this->nodes(tree) : filled;
  }
  EXPECT_LE(most[0], 3 * filled);
  EXPECT_LE(most[1], most[0] + 4) << "it does not grow";
  typename TestFixture::Under::Model model;
  for (std::uint64_t n = (kWindows - 1) * kWindow; n < kWindows * kWindow; ++n) {
    model.emplace(this->key(n), n);
  }
  tree.expect_holds(model);
  this->reclaim(tree);
  EXPECT_LE(live_bytes(tree.driver().runtime()).nodes,
            (this->nodes(tree) + 1) * 3 * sizeof(Node<typename TypeParam::Traits::Shape>) / 2)
      << "unlinked nodes and fences are freed";
}

TYPED_TEST(UnlinkTest, DeletingAllInAnyOrderLeavesOneNodeALevel) {
  constexpr std::uint64_t kKeys = kSlowRuns ? 500 : 1500;
  std::vector<std::uint64_t> order(kKeys);
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    order[n] = n;
  }
  for (int how = 0; how < 4; ++how) {
    SCOPED_TRACE(how);
    typename TestFixture::Under tree;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      tree.apply(this->key(n), verb::upsert, n);
    }
    const CheckReport full = this->check(tree);
    if (how == 1) {
      std::reverse(order.begin(), order.end());
    } else if (how > 1) {
      runtime::Random random{static_cast<std::uint64_t>(how)};
      for (std::size_t i = order.size() - 1; i > 0; --i) {
        std::swap(order[i], order[random.below(i + 1)]);
      }
    }
    for (const std::uint64_t n : order) {
      ASSERT_TRUE(tree.apply(this->key(n), verb::remove).found);
    }
    tree.expect_holds({});
    EXPECT_EQ(this->nodes(tree), full.levels) << "of " << full.nodes;
    const UnlinkCounters& unlinks = tree.tree().unlinks();
    EXPECT_EQ(unlinks.leaves.load() + unlinks.branches.load(), full.nodes - full.levels);
    this->reclaim(tree);
    const LiveBytes left = live_bytes(tree.driver().runtime());
    EXPECT_EQ(left.items, 0U);
    EXPECT_LE(left.nodes, (full.levels + 1) * 3 * sizeof(Node<typename TypeParam::Traits::Shape>) / 2);
  }
}

// The cas of a key that comes back must not repeat a deleted key's cas.
TYPED_TEST(UnlinkTest, WhatGoesLeavesItsCasFloorToItsNeighbour) {
  constexpr std::uint64_t kKeys = 400;
  using Walk = TreeWalk<TypeParam>;
  for (const bool rising : {false, true}) {
    typename TestFixture::Under tree;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      tree.apply(this->key(n), verb::upsert, n);
    }
    tree.driver().settle();
    const auto leaves = Walk::level(tree.tree(), 0);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      leaves[i]->raise_order_floor(1000 + (rising ? i : leaves.size() - 1 - i));
    }
    for (std::uint64_t n = kKeys; n > 0; --n) {
      tree.apply(this->key(n - 1), verb::remove);
    }
    tree.driver().settle();
    ASSERT_EQ(Walk::level(tree.tree(), 0).size(), 1U);
    EXPECT_EQ(leaves.front()->order_floor(), 1000 + leaves.size() - 1);
  }
}

}  // namespace
}  // namespace mxkv::index::testing

// A full leaf shares with its right neighbour, or both become three, before it splits: leaves get fuller, and
// scans and edits under way see each entry once.
#include "index/edit_task.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/halting_scan.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/taken_path.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
class OverflowTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Model = typename Under::Model;
  using Walk = TreeWalk<Env>;

  static void put(Under& tree, Model& model, const OwnedKey& key) {
    const std::uint64_t number = model.size();
    tree.apply(key, verb::upsert, number);
    model[key] = number;
  }
  /// Keys by number, sorted.
  static std::vector<OwnedKey> spaced_keys(std::uint64_t count) {
    std::vector<OwnedKey> keys;
    for (std::uint64_t n = 0; n < count; ++n) {
      keys.push_back(spaced_key(OwnedKey{}, n));
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  /// The `nth` of nine keys behind `key`, before the next of the spaced keys.
  static std::uint64_t behind(std::uint64_t key, std::uint64_t nth) { return key + nth; }
  static std::string behind(const std::string& key, std::uint64_t nth) {
    return key + '+' + std::to_string(nth);
  }
  static void first_of(bool backward, std::uint64_t& key) { key = backward ? ~std::uint64_t{0} : 0; }
  static void first_of(bool backward, std::string& key) { key = backward ? "\xFF" : ""; }
};

using Envs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 3, 3, false>>,
                              IntegerEnv<>, ByteEnv<NodeShape<2, 2, 2, true>>,
                              ByteEnv<NodeShape<3, 3, 3, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(OverflowTest, Envs);

TYPED_TEST(OverflowTest, FillsLeavesToThreeQuartersInAnyOrder) {
  using Key = typename TypeParam::OwnedKey;
  constexpr bool kLarge = TypeParam::Traits::Shape::capacity(true) > 9;
  constexpr std::uint64_t kKeys = kLarge ? (kSlowRuns ? 4000 : 12'000) : 700;
  const Taken share{runtime::path::overflow_share};
  const Taken three{runtime::path::overflow_three};
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    TestFixture::put(tree, model, spaced_key(Key{}, n * 7919 % kKeys));
  }
  tree.expect_holds(model);
  EXPECT_GT(share.times(), 0U);
  EXPECT_GT(three.times(), 0U);
  if (kLarge) {
    EXPECT_GT(TestFixture::Walk::fill(tree.tree()), 0.74);
  }
}

TYPED_TEST(OverflowTest, LeavesAscendingKeysInFullLeaves) {
  using Key = typename TypeParam::OwnedKey;
  const Taken share{runtime::path::overflow_share};
  const Taken three{runtime::path::overflow_three};
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  for (const Key& key : TestFixture::spaced_keys(900)) {
    TestFixture::put(tree, model, key);
  }
  tree.expect_holds(model);
  EXPECT_EQ(share.times() + three.times(), runtime::paths::kCounted ? 0U : 2U);
}

TYPED_TEST(OverflowTest, WhatIsRemovedInBetweenChangesNothing) {
  using Key = typename TypeParam::OwnedKey;
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  runtime::Random random{3};
  for (int i = 0; i < 4000; ++i) {
    const Key key = spaced_key(Key{}, random.below(600), random.below(10));
    if (random.below(3) == 0 && !model.empty()) {
      const auto at = model.lower_bound(key);
      const Key gone = at == model.end() ? model.begin()->first : at->first;
      EXPECT_TRUE(tree.apply(gone, verb::remove).found);
      model.erase(gone);
    } else {
      TestFixture::put(tree, model, key);
    }
  }
  tree.expect_holds(model);
  for (const bool backward : {false, true}) {
    Key key{};
    TestFixture::first_of(backward, key);
    EXPECT_EQ(tree.range(key, backward, 10'000).entries,
              TestFixture::Under::expected_range(model, key, backward, 10'000));
  }
}

TYPED_TEST(OverflowTest, KeepsCasFloorAndDueWhereEntriesGo) {
  using Key = typename TypeParam::OwnedKey;
  constexpr std::uint64_t kFloor = 1'000'000;
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  for (std::uint64_t n = 0; n < 300; ++n) {
    TestFixture::put(tree, model, spaced_key(Key{}, n * 7 % 300));
  }
  tree.driver().settle();
  std::map<Key, std::uint64_t> floors;  // of each key's leaf
  std::uint64_t floor = kFloor;
  for (auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
    leaf->raise_order_floor(++floor);
    leaf->store_due(Due::at(100 + floor % 5 * Due::kSecondsAStep, 0));
    for (const Key& key : TestFixture::Walk::keys(*leaf)) {
      floors[key] = floor;
    }
  }
  for (std::uint64_t n = 0; n < 300; ++n) {
    TestFixture::put(tree, model, spaced_key(Key{}, n * 11 % 300, 5));
  }
  tree.driver().settle();
  for (const auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
    EXPECT_FALSE(leaf->due().never());
    for (const Key& key : TestFixture::Walk::keys(*leaf)) {
      EXPECT_GE(leaf->order_floor(), floors[key]);
    }
  }
  tree.expect_holds(model);
}

/// Scans that stand still after each leaf, while leaves before, at and ahead of it overflow.
TYPED_TEST(OverflowTest, ScansSeeEachEntryOnceWhereverLeavesOverflow) {
  using Key = typename TypeParam::OwnedKey;
  constexpr std::uint64_t kKeys = TypeParam::Traits::Shape::capacity(true) > 9 ? 600 : 60;
  const Taken skips{runtime::path::scan_skips_visited};
  for (const bool backward : {false, true}) {
    for (const std::uint64_t wanted : {std::uint64_t{3}, ~std::uint64_t{0} / 4}) {
      typename TestFixture::Under tree;
      typename TestFixture::Model model;
      const auto keys = TestFixture::spaced_keys(kKeys);
      for (std::uint64_t n = 0; n < kKeys; ++n) {
        TestFixture::put(tree, model, keys[n * 7 % kKeys]);
      }
      const auto before = model;
      Range<TypeParam> range;
      TestFixture::first_of(backward, range.key);
      range.backward = backward;
      range.wanted = wanted;
      runtime::Random random{wanted};
      scan_with_halts(tree, range, [&] {
        // Around where it stands, mostly.
        const Key& stands = range.entries.empty() ? range.key : range.entries.back().first;
        const auto at =
            static_cast<std::uint64_t>(std::lower_bound(keys.begin(), keys.end(), stands) - keys.begin());
        for (int i = 0; i < 12; ++i) {
          const std::uint64_t n = std::min(at + random.below(9) - std::min<std::uint64_t>(at, 6), kKeys - 1);
          TestFixture::put(tree, model, TestFixture::behind(keys[n], 1 + random.below(9)));
        }
      });
      const auto seen = seen_in_order(range, model);
      for (const auto& [key, number] : before) {
        EXPECT_TRUE(seen.contains(key)) << ::testing::PrintToString(key);
      }
      tree.expect_holds(model);
    }
  }
  EXPECT_GT(skips.times(), 0U);
}

/// Byte keys whose leaves' prefixes get shorter and longer, and heads that tie.
TEST(OverflowOfPrefixes, BehavesLikeAMap) {
  const Taken whole{runtime::path::overflow_whole_keys};
  const Taken shorter{runtime::path::overflow_shorter_prefix};
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<ByteEnv<>> tree;
    TreeUnderTest<ByteEnv<>>::Model model;
    runtime::Random random{17};
    for (std::size_t n = 0; n < 6000; ++n) {
      const std::string key = random_key(set, random);
      tree.apply(key, verb::upsert, n);
      model[key] = n;
    }
    tree.expect_holds(model);
    EXPECT_EQ(tree.range("", false, 100'000).entries,
              TreeUnderTest<ByteEnv<>>::expected_range(model, "", false, 100'000));
  }
  EXPECT_GT(whole.times(), 0U);
  EXPECT_GT(shorter.times(), 0U);
}

}  // namespace
}  // namespace mxkv::index::testing

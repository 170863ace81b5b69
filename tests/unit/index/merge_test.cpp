// A leaf that removals thinned gives its entries to its right neighbours: leaves get fuller, and scans under way see
// each entry once.
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/halting_scan.hpp"
#include "tests/unit/index/merge_walk.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/taken_blocks.hpp"
#include "tests/unit/index/taken_path.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
class MergeTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Model = typename Under::Model;
  using Walk = TreeWalk<Env>;
  static constexpr bool kLarge = Env::Traits::Shape::capacity(true) > 9;
  static constexpr std::uint64_t kKeys = kLarge ? (kSlowRuns ? 4000 : 8000) : 700;

  static OwnedKey key(std::uint64_t n, std::uint64_t between = 0) {
    return spaced_key(OwnedKey{}, n, between);
  }
  static void fill(Under& tree, Model& model, std::uint64_t keys) {
    for (std::uint64_t n = 0; n < keys; ++n) {
      const OwnedKey at = key(n * 7919 % keys, n * 7919 % keys % 7);
      tree.apply(at, verb::upsert, n);
      model[at] = n;
    }
  }
  /// Removes `part` of ten of the keys.
  static void thin(Under& tree, Model& model, unsigned part, runtime::Random& random) {
    for (auto at = model.begin(); at != model.end();) {
      if (random.below(10) < part) {
        ASSERT_TRUE(tree.apply(at->first, verb::remove).found);
        at = model.erase(at);
      } else {
        ++at;
      }
    }
  }
  /// One pass over all leaves; returns the merges that it started.
  static unsigned pass(Under& tree) {
    Merges<Env> merges;
    tree.driver().on_worker(0, [&](runtime::Worker& worker) {
      worker.create<MergeWalkTask<Env>>(tree.tree(), merges)->start(worker);
    });
    tree.driver().run_until([&] { return merges.done; });
    EXPECT_TRUE(merges.done);
    tree.driver().settle();
    return merges.started;
  }
};

using MergeEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 3, 3, false>>,
                     IntegerEnv<>, ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<NodeShape<3, 3, 3, true>>,
                     ByteEnv<>>;
TYPED_TEST_SUITE(MergeTest, MergeEnvs);

TYPED_TEST(MergeTest, FillsThinnedLeavesAgain) {
  const Taken one{runtime::path::merge_into_one};
  const Taken two{runtime::path::merge_into_two};
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  runtime::Random random{5};
  TestFixture::fill(tree, model, TestFixture::kKeys);
  std::uint64_t merged = 0;
  for (int round = 0; round < 2; ++round) {
    TestFixture::thin(tree, model, 5, random);
    tree.driver().settle();
    const double before = TestFixture::Walk::fill(tree.tree());
    for (int n = 0; n < 4; ++n) {
      TestFixture::pass(tree);
    }
    EXPECT_GT(tree.tree().unlinks().merges.load(), merged);
    merged = tree.tree().unlinks().merges.load();
    EXPECT_GT(TestFixture::Walk::fill(tree.tree()), before);
    if (TestFixture::kLarge && !TypeParam::Traits::kExact) {  // integers are their leaves' fences
      EXPECT_GT(TestFixture::Walk::fill(tree.tree()), 0.66);  // no three neighbours fit into two
    }
    tree.expect_holds(model);
  }
  EXPECT_GT(one.times(), 0U);
  if (TestFixture::kLarge) {
    EXPECT_GT(two.times(), 0U);
  }
  using Key = typename TypeParam::OwnedKey;
  EXPECT_EQ(tree.range(Key{}, false, 100'000).entries,
            TestFixture::Under::expected_range(model, Key{}, false, 100'000));
}

TYPED_TEST(MergeTest, EndsWhereNoNeighboursFitTogether) {
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  runtime::Random random{4};
  TestFixture::fill(tree, model, TestFixture::kKeys);
  TestFixture::thin(tree, model, 7, random);
  tree.driver().settle();
  const std::uint64_t unlinked = tree.tree().unlinks().leaves.load();
  std::uint64_t merged = 0;
  for (std::uint64_t before = ~std::uint64_t{0}; merged != before;) {
    before = merged;
    TestFixture::pass(tree);
    merged = tree.tree().unlinks().merges.load();
  }
  EXPECT_GT(merged, 0U);
  tree.expect_holds(model);
  EXPECT_EQ(tree.tree().unlinks().leaves.load(), unlinked + merged)
      << "each merge empties a leaf, which goes";
}

TYPED_TEST(MergeTest, KeepsOrderFloorAndDueWhereEntriesGo) {
  using Key = typename TypeParam::OwnedKey;
  constexpr std::uint64_t kFloor = 1'000'000;
  typename TestFixture::Under tree;
  typename TestFixture::Model model;
  runtime::Random random{6};
  TestFixture::fill(tree, model, 600);
  TestFixture::thin(tree, model, 5, random);
  tree.driver().settle();
  std::map<Key, std::uint64_t> floors;  // of each key's leaf
  std::map<Key, std::uint64_t> dues;    // seconds until the leaf's due
  std::uint64_t floor = kFloor;
  for (auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
    leaf->raise_order_floor(++floor);
    leaf->store_due(Due::at(100 + random.below(5) * Due::kSecondsAStep, 0));
    for (const Key& key : TestFixture::Walk::keys(*leaf)) {
      floors[key] = floor;
      dues[key] = leaf->due().seconds_left(0);
    }
  }
  TestFixture::pass(tree);
  EXPECT_GT(tree.tree().unlinks().merges.load(), 0U);
  for (const auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
    for (const Key& key : TestFixture::Walk::keys(*leaf)) {
      EXPECT_GE(leaf->order_floor(), floors[key]);
      ASSERT_FALSE(leaf->due().never());
      EXPECT_LE(leaf->due().seconds_left(0), dues[key]);
    }
  }
  tree.expect_holds(model);
}

/// Scans that stand still after each leaf, while leaves before, at and ahead of it are thinned and merge.
TYPED_TEST(MergeTest, ScansSeeEachEntryOnceWhereverLeavesMerge) {
  using Key = typename TypeParam::OwnedKey;
  const Taken skips{runtime::path::scan_skips_visited};
  std::uint64_t merged = 0;
  for (const bool backward : {false, true}) {
    for (const std::uint64_t wanted : {std::uint64_t{3}, ~std::uint64_t{0} / 4}) {
      typename TestFixture::Under tree;
      typename TestFixture::Model model;
      TestFixture::fill(tree, model, TestFixture::kLarge ? 1200 : 120);
      const auto before = model;
      runtime::Random random{wanted};
      Range<TypeParam> range;
      range.key = backward ? model.rbegin()->first : Key{};
      range.backward = backward;
      range.wanted = wanted;
      scan_with_halts(tree, range, [&] {
        TestFixture::thin(tree, model, 2, random);
        TestFixture::pass(tree);
      });
      const auto seen = seen_in_order(range, before);
      for (const auto& [key, number] : model) {
        EXPECT_TRUE(seen.contains(key) || (backward && key == range.key)) << ::testing::PrintToString(key);
      }
      merged += tree.tree().unlinks().merges.load();
      tree.expect_holds(model);
    }
  }
  EXPECT_GT(merged, 0U);
  EXPECT_TRUE(skips.times() > 0U || !TestFixture::kLarge);
}

TYPED_TEST(MergeTest, AmongWritesEveryEntryStays) {
  typename TestFixture::Under tree{driver_options(3)};
  typename TestFixture::Model model;
  runtime::Random random{8};
  TestFixture::fill(tree, model, TestFixture::kKeys / 2);
  for (std::uint64_t round = 0; round < (kSlowRuns ? 10 : 40); ++round) {
    std::vector<Operation<TypeParam>> operations(200);
    Merges<TypeParam> merges;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto& operation = operations[i];
      operation.key = TestFixture::key((i + 200 * round) * 53 % (TestFixture::kKeys / 2), random.below(7));
      operation.how = random.below(5) < 4 ? verb::remove : verb::upsert;
      operation.operand = random();
      if (std::any_of(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const auto& other) { return other.key == operation.key; })) {
        operation.how = verb::find;
      }
      tree.driver().on_worker(i % 3, [&](runtime::Worker& worker) {
        start_operation(tree.context(), operation, worker);
        if (i == operations.size() / 2) {
          worker.create<MergeWalkTask<TypeParam>>(tree.tree(), merges)->start(worker);
        }
      });
    }
    tree.driver().run_until([&] {
      return merges.done &&
             std::all_of(operations.begin(), operations.end(), [](const auto& each) { return each.done; });
    });
    ASSERT_TRUE(merges.done);
    for (const auto& operation : operations) {
      if (operation.how == verb::upsert) {
        model[operation.key] = operation.operand;
      } else if (operation.how == verb::remove) {
        model.erase(operation.key);
      }
    }
  }
  if (!kSlowRuns || !TypeParam::Traits::kExact) {  // integers are often their leaves' fences: few merge
    EXPECT_GT(tree.tree().unlinks().merges.load(), 0U);
  }
  tree.expect_holds(model);
}

/// In order and without gaps, the first entries of most leaves are at their low fences.
TEST(MergeOfIntegers, LeavesLeavesThatBeginAtTheirFence) {
  const Taken at_fence{runtime::path::merge_at_fence};
  TreeUnderTest<IntegerEnv<>> tree;
  TreeUnderTest<IntegerEnv<>>::Model model;
  for (std::uint64_t n = 0; n < 4000; ++n) {
    tree.apply(n, verb::upsert, n);
    model[n] = n;
  }
  std::map<std::uint64_t, std::uint64_t> fences;
  for (const auto* leaf : TreeWalk<IntegerEnv<>>::level(tree.tree(), 0)) {
    fences[leaf->low()] = 1;
  }
  for (std::uint64_t n = 0; n < 4000; ++n) {
    if (n % 3 != 0 && !fences.contains(n)) {
      tree.apply(n, verb::remove);
      model.erase(n);
    }
  }
  Merges<IntegerEnv<>> merges;
  tree.driver().on_worker(0, [&](runtime::Worker& worker) {
    worker.create<MergeWalkTask<IntegerEnv<>>>(tree.tree(), merges)->start(worker);
  });
  tree.driver().run_until([&] { return merges.done; });
  tree.driver().settle();
  EXPECT_GT(at_fence.times(), 0U);
  EXPECT_EQ(tree.tree().unlinks().merges.load(), 0U);
  tree.expect_holds(model);
}

/// Byte keys whose leaves' prefixes get shorter and longer, and heads that tie.
TEST(MergeOfPrefixes, BehavesLikeAMap) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<ByteEnv<>> tree;
    TreeUnderTest<ByteEnv<>>::Model model;
    runtime::Random random{17};
    for (int round = 0; round < 3; ++round) {
      for (std::size_t n = 0; n < 2000; ++n) {
        const std::string key = random_key(set, random);
        tree.apply(key, verb::upsert, n);
        model[key] = n;
      }
      for (auto at = model.begin(); at != model.end();) {
        const bool goes = random.below(3) != 0;
        if (goes) {
          tree.apply(at->first, verb::remove);
        }
        at = goes ? model.erase(at) : std::next(at);
      }
      for (int n = 0; n < 3; ++n) {
        Merges<ByteEnv<>> merges;
        tree.driver().on_worker(0, [&](runtime::Worker& worker) {
          worker.create<MergeWalkTask<ByteEnv<>>>(tree.tree(), merges)->start(worker);
        });
        tree.driver().run_until([&] { return merges.done; });
        tree.driver().settle();
      }
      tree.expect_holds(model);
    }
    EXPECT_EQ(tree.range("", false, 100'000).entries,
              TreeUnderTest<ByteEnv<>>::expected_range(model, "", false, 100'000));
  }
}

TEST(MergeWithoutMemory, LeavesStayAsTheyAre) {
  const Taken no_memory{runtime::path::merge_no_memory};
  TreeUnderTest<ByteEnv<>> tree;
  TreeUnderTest<ByteEnv<>>::Model model;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const std::string key = spaced_key(std::string{}, n * 7919 % 3000);
    tree.apply(key, verb::upsert, n);
    model[key] = n;
  }
  for (auto at = model.begin(); at != model.end();) {
    const bool goes = at->second % 3 != 0;
    if (goes) {
      tree.apply(at->first, verb::remove);
    }
    at = goes ? model.erase(at) : std::next(at);
  }
  tree.driver().settle();
  runtime::Runtime& runtime = tree.driver().runtime();
  const std::size_t limit = runtime.budget().limit_bytes();
  TakenBlocks taken;
  runtime.budget().set_limit_bytes(0);
  for (std::size_t bytes = runtime::kSmallestClassBytes; bytes <= 64; bytes += 8) {
    taken.take(runtime.worker(runtime::WorkerId{0}).nodes(), bytes, 0);
  }
  const auto pass = [&tree] {
    Merges<ByteEnv<>> merges;
    tree.driver().on_worker(0, [&](runtime::Worker& worker) {
      worker.create<MergeWalkTask<ByteEnv<>>>(tree.tree(), merges)->start(worker);
    });
    tree.driver().run_until([&] { return merges.done; });
    tree.driver().settle();
    return merges.started;
  };
  const unsigned started = pass();
  EXPECT_LT(tree.tree().unlinks().merges.load(), started);
  EXPECT_GT(no_memory.times(), 0U);
  runtime.budget().set_limit_bytes(limit);
  taken.give_back();
  tree.expect_holds(model);
  const std::uint64_t merged = tree.tree().unlinks().merges.load();
  pass();
  EXPECT_GT(tree.tree().unlinks().merges.load(), merged);
  tree.expect_holds(model);
}

}  // namespace
}  // namespace mxkv::index::testing

// The tree over 64-bit keys against std::map, on nodes so small that few keys split all levels, under both
// optimistic primitives and all ways to prefetch.
#include "index/row_walk.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

using TinyEnv = IntegerEnv<NodeShape<2, 2, 2, false>>;
using SmallEnv = IntegerEnv<NodeShape<3, 3, 3, false>>;
using FullEnv = IntegerEnv<>;

constexpr std::uint64_t kGreatest = ~std::uint64_t{0};

std::vector<std::uint64_t> random_keys(std::size_t count) {
  runtime::Random random{5};
  std::vector<std::uint64_t> keys{0, 1, kGreatest - 1, kGreatest};
  while (keys.size() < count) {
    keys.push_back(random.below(4) == 0 ? random() : random.below(700));
  }
  return keys;
}

template <class Env>
class IntegerTreeTest : public ::testing::Test {};

using AllEnvs = ::testing::Types<TinyEnv, SmallEnv, FullEnv>;
TYPED_TEST_SUITE(IntegerTreeTest, AllEnvs);

TYPED_TEST(IntegerTreeTest, BehavesLikeAMapUnderRandomOperations) {
  TreeUnderTest<TypeParam> tree;
  const auto model = compare_with_map(tree, random_keys(900), kSlowRuns ? 3000 : 8000, 7);
  tree.expect_holds(model);
}

TYPED_TEST(IntegerTreeTest, RowsTellWhatAMapHoldsOrLeaveAKeyToATask) {
  TreeUnderTest<TypeParam> tree;
  const auto keys = random_keys(900);
  const auto model = compare_with_map(tree, keys, 3000, 9);
  runtime::Random random{11};
  std::size_t told = 0, missing = 0;
  tree.driver().on_worker(0, [&](runtime::Worker& /*worker*/) {
    RowWalk<typename TypeParam::Traits> row;
    for (int i = 0; i < 300; ++i) {
      std::vector<std::uint64_t> wanted(1 + random.below(row.kMost));
      for (std::uint64_t& key : wanted) {
        key = random.below(2) == 0 ? keys[random.below(keys.size())] : random.below(1400);
      }
      const std::size_t size =
          row.look_up(tree.tree(), wanted.size(), [&](std::size_t k) { return wanted[k]; });
      for (std::size_t k = 0; k < size; ++k) {
        const auto at = model.find(wanted[k]);
        ASSERT_EQ(row.has(k), at != model.end()) << wanted[k];
        ASSERT_EQ(row.found(k), at == model.end() ? 0 : at->second) << wanted[k];
        missing += at == model.end() ? 1 : 0;
      }
      told += size;
    }
  });
  EXPECT_GT(told, 3000U) << "most keys are plain cases";
  EXPECT_GT(missing, 300U) << "keys that the tree does not have are told, too";
}

TYPED_TEST(IntegerTreeTest, ScansBothWaysReturnWhatAMapHolds) {
  TreeUnderTest<TypeParam> tree;
  const auto keys = random_keys(900);
  const auto model = compare_with_map(tree, keys, 3000, 9);
  runtime::Random random{11};
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t key = keys[random.below(keys.size())] + random.below(2);
    const std::size_t limit = random.below(300);
    for (const bool backward : {false, true}) {
      EXPECT_EQ(tree.range(key, backward, limit).entries, tree.expected_range(model, key, backward, limit));
    }
  }
}

TYPED_TEST(IntegerTreeTest, SortedLoadsBothWaysKeepTheInvariants) {
  TreeUnderTest<TypeParam> tree;
  typename TreeUnderTest<TypeParam>::Model model;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    for (const std::uint64_t key : {1'000'000 + i, 1'000'000 - i}) {
      tree.apply(key, verb::upsert, i);
      model[key] = i;
    }
  }
  tree.expect_holds(model);
}

/// How nodes are synchronised and lines are prefetched. Results must not depend on it.
struct Mode {
  TreeOptions how;
  runtime::prefetch_mode prefetch;
};

class ModesTest : public ::testing::TestWithParam<Mode> {};

TEST_P(ModesTest, TheTreeBehavesLikeAMapOnSeveralWorkers) {
  runtime::RuntimeOptions options = driver_options(3);
  options.prefetch.mode = GetParam().prefetch;
  TreeUnderTest<TinyEnv> tree{options, GetParam().how};
  const auto model = compare_with_map(tree, random_keys(500), 3000, 21);
  EXPECT_EQ(tree.range(0, false, 10'000).entries, tree.expected_range(model, 0, false, 10'000));
  EXPECT_EQ(tree.range(kGreatest, true, 10'000).entries, tree.expected_range(model, kGreatest, true, 10'000));
  tree.expect_holds(model);
}

std::vector<Mode> all_modes() {
  using runtime::prefetch_mode;
  std::vector<Mode> modes;
  std::size_t number = 0;
  for (const auto leaves : kTreePrimitives) {
    for (const auto inner : kTreePrimitives) {
      for (const auto prefetch :
           {prefetch_mode::off, prefetch_mode::distance, prefetch_mode::at_spawn, prefetch_mode::tuned}) {
        if (!kSlowRuns || ++number % 5 == 0) {  // each primitive with each way to prefetch
          modes.push_back({TreeOptions{leaves, inner}, prefetch});
        }
      }
    }
  }
  return modes;
}

INSTANTIATE_TEST_SUITE_P(All, ModesTest, ::testing::ValuesIn(all_modes()));

}  // namespace
}  // namespace mxkv::index::testing

// Separators that divide a range: in its bounds, in order, and as even as the tree is, whatever its keys.
#include <algorithm>

#include "index/divide_task.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
struct Division {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey from{};
  OwnedKey until{};
  bool bounded = true;
  std::size_t wanted = 8;
  SpacedKeys<OwnedKey> keys{32};
  std::size_t offered = 0;
  unsigned level = 0;
  bool done = false;
};

template <class Env>
class DivisionTask final : public DivideTask<DivisionTask<Env>, typename Env::Traits> {
  using Base = DivideTask<DivisionTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  DivisionTask(const runtime::TaskClass* task_class, Tree<typename Env::Traits>& tree,
               Division<Env>& division)
      : Base(task_class, tree, division.keys, division.wanted), division_(&division) {}
  [[nodiscard]] Key key() const noexcept { return Env::view(division_->from); }
  [[nodiscard]] bool ends_before(Key key) const noexcept {
    return division_->bounded && !(key < Env::view(division_->until));
  }
  runtime::step divided(runtime::Worker& /*worker*/) {
    division_->offered = division_->keys.offered();
    division_->level = this->level();
    division_->done = true;
    return runtime::step::done;
  }

 private:
  Division<Env>* division_;
};

template <class Env>
class DivideTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }

  static void run(TreeUnderTest<Env>& tree, Division<Env>& division) {
    tree.driver().on_worker(0, [&](runtime::Worker& worker) {
      worker.create<DivisionTask<Env>>(tree.tree(), division)->start(worker);
    });
    tree.driver().run_until([&] { return division.done; });
    ASSERT_TRUE(division.done);
  }
  static void expect_in_range(const std::vector<OwnedKey>& found, const Division<Env>& division) {
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
    for (const OwnedKey& separator : found) {
      EXPECT_LT(division.from, separator);
      if (division.bounded) {
        EXPECT_LT(separator, division.until);
      }
    }
  }
};

using DivideEnvs = ::testing::Types<IntegerEnv<NodeShape<3, 2, 3, false>>, IntegerEnv<>,
                                    ByteEnv<NodeShape<3, 2, 3, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(DivideTest, DivideEnvs);

TYPED_TEST(DivideTest, PartsOfAFilledTreeAreAboutEven) {
  constexpr std::uint64_t kKeys = 4000;
  TreeUnderTest<TypeParam> tree;
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    tree.apply(this->key(n), verb::upsert, n);
  }
  tree.driver().settle();
  for (const std::size_t parts : {2U, 3U, 8U, 16U}) {
    Division<TypeParam> division;
    division.bounded = false;
    division.wanted = parts;
    division.keys = SpacedKeys<typename TypeParam::OwnedKey>{4 * parts};
    this->run(tree, division);
    const auto found = division.keys.take(parts);
    this->expect_in_range(found, division);
    ASSERT_EQ(found.size(), parts - 1);
    std::vector<std::uint64_t> sizes(parts);
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      ++sizes[static_cast<std::size_t>(std::upper_bound(found.begin(), found.end(), this->key(n)) -
                                       found.begin())];
    }
    EXPECT_GT(*std::min_element(sizes.begin(), sizes.end()), kKeys / parts / 4);
    EXPECT_LT(*std::max_element(sizes.begin(), sizes.end()), kKeys / parts * 3);
  }
}

TYPED_TEST(DivideTest, OnlySeparatorsInsideOfTheRangeCount) {
  constexpr std::uint64_t kKeys = 2000;
  TreeUnderTest<TypeParam> tree;
  runtime::Random random{5};
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    tree.apply(this->key(n), verb::upsert, n);
  }
  for (int trial = 0; trial < 40; ++trial) {
    Division<TypeParam> division;
    const std::uint64_t from = random.below(kKeys);
    division.from = this->key(from);
    division.until = this->key(from + random.below(kKeys - from));
    this->run(tree, division);
    this->expect_in_range(division.keys.take(8), division);
  }
}

TYPED_TEST(DivideTest, ATreeOfOneLeafHasNone) {
  TreeUnderTest<TypeParam> tree;
  tree.apply(this->key(1), verb::upsert, 1);
  Division<TypeParam> division;
  division.bounded = false;
  this->run(tree, division);
  EXPECT_EQ(division.offered, 0U);
  EXPECT_TRUE(division.keys.take(8).empty());
}

TYPED_TEST(DivideTest, WhileLeavesGoItEndsInOrderAllTheSame) {
  constexpr std::uint64_t kKeys = 1500;
  TreeUnderTest<TypeParam> tree;
  runtime::Random random{7};
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    tree.apply(this->key(n), verb::upsert, n);
  }
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    tree.apply(this->key(n), verb::remove);
    if (n % 100 == 50) {
      Division<TypeParam> division;
      division.bounded = false;
      division.from = this->key(random.below(n));
      this->run(tree, division);
      this->expect_in_range(division.keys.take(8), division);
    }
  }
}

TEST(DivideByteKeys, SeparatorsOfAllSetsAreInTheirRange) {
  using Env = ByteEnv<NodeShape<3, 2, 3, true>>;
  for (const key_set set : kAllKeySets) {
    const std::vector<std::string> keys = make_keys(set, 400, 3);
    TreeUnderTest<Env> tree;
    for (const std::string& key : keys) {
      tree.apply(key, verb::upsert, 1);
    }
    for (std::size_t from = 0; from < keys.size(); from += 1 + keys.size() / 7) {
      Division<Env> division;
      division.from = keys[from];
      division.until = keys.back();
      tree.driver().on_worker(0, [&](runtime::Worker& worker) {
        worker.create<DivisionTask<Env>>(tree.tree(), division)->start(worker);
      });
      tree.driver().run_until([&] { return division.done; });
      ASSERT_TRUE(division.done);
      const std::vector<std::string> found = division.keys.take(8);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
      for (const std::string& separator : found) {
        EXPECT_LT(division.from, separator);
        EXPECT_LT(separator, division.until);
      }
    }
  }
}

TEST(SpacedKeysTest, OfAnyNumberItKeepsEnoughAtEvenDistances) {
  for (std::uint64_t offered = 0; offered < 3000; offered = offered * 5 / 4 + 1) {
    for (const std::size_t parts : {1U, 2U, 5U, 16U}) {
      SpacedKeys<std::uint64_t> keys{4 * parts};
      for (std::uint64_t n = 1; n <= offered; ++n) {
        keys.offer(n);
      }
      EXPECT_EQ(keys.offered(), offered);
      const std::vector<std::uint64_t> taken = keys.take(parts);
      ASSERT_EQ(taken.size(), std::min<std::uint64_t>(parts, offered + 1) - 1);
      std::uint64_t before = 0;
      for (const std::uint64_t key : taken) {
        EXPECT_LE(key - before, (offered + 1) / parts * 3 / 2 + 1);
        EXPECT_GT(key, before);
        before = key;
      }
      EXPECT_TRUE(keys.take(parts).empty()) << "what was taken is gone";
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

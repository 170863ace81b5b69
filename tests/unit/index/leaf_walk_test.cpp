// Walks over leaves by their headers: each wanted leaf is met once, in order, whatever lies between, in
// slices too. Halves that split off are wanted as their leaf was. One leaf is rewritten under its latch.
#include <algorithm>
#include <set>

#include "index/edit_task.hpp"
#include "index/leaf_walk_task.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

constexpr std::uint64_t kNow = 1'000'000;
constexpr std::uint64_t kInserted = 10'000;  ///< numbers of the keys that are inserted beside a walk

template <class Env>
struct DueLeaves {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey at{};
  std::vector<OwnedKey> met;
  std::set<const void*> wanted;   ///< the same leaves: low fences go down where a left neighbour overflows
  std::set<std::uint64_t> words;  ///< all entries of leaves that the walk looked at, as values
  std::size_t most_stops = 0;     ///< of a slice; 0: one slice does it all
  std::size_t slices = 0;
  bool done = false;
};

template <class Env>
class DueWalkTask final : public LeafWalkTask<DueWalkTask<Env>, typename Env::Traits> {
  using Base = LeafWalkTask<DueWalkTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  using typename Base::NodeT;
  DueWalkTask(const runtime::TaskClass* task_class, TreeContext<Env>& context, DueLeaves<Env>& walk)
      : Base(task_class, context.tree), context_(&context), walk_(&walk) {}
  [[nodiscard]] Key key() const noexcept { return Env::view(walk_->at); }
  void set_key(Key key) { walk_->at = typename Env::OwnedKey{key}; }
  [[nodiscard]] bool wants(const NodeT& leaf) const {
    const bool due = leaf.due().reached(kNow);
    if (due) {
      walk_->wanted.insert(&leaf);
    }
    Entries entries;
    leaf.copy_entries(leaf.meta(), false, entries);
    walk_->words.insert(entries.values.begin(), entries.values.begin() + entries.count);
    return due;
  }
  void met(Key low, runtime::Worker& /*worker*/) { walk_->met.push_back(typename Env::OwnedKey{low}); }
  [[nodiscard]] bool may_go_on(runtime::Worker& /*worker*/) const noexcept { return walk_->most_stops == 0; }
  runtime::step finished(bool exhausted, runtime::Worker& worker) {
    ++walk_->slices;
    if (exhausted) {
      walk_->done = true;
    } else {
      worker.create<DueWalkTask<Env>>(*context_, *walk_)->start(worker);
    }
    return runtime::step::done;
  }

 private:
  TreeContext<Env>* context_;
  DueLeaves<Env>* walk_;
};

struct NothingFound {};

/// Removes all odd entries of one leaf, and sets its due to never.
template <class Env>
class RewriteTask final : public EditTask<RewriteTask<Env>, typename Env::Traits, NothingFound> {
  using Base = EditTask<RewriteTask<Env>, typename Env::Traits, NothingFound>;
  using OwnedKey = typename Env::OwnedKey;
  using Key = typename Env::Traits::Key;

 public:
  using typename Base::NodeT;
  static constexpr bool kOneLeaf = true;
  RewriteTask(const runtime::TaskClass* task_class, TreeContext<Env>& context, OwnedKey& key, bool& done)
      : Base(task_class, context.tree), context_(&context), key_(&key), done_(&done) {}
  [[nodiscard]] Key key() const noexcept { return Env::view(*key_); }
  void set_key(Key key) { *key_ = OwnedKey{key}; }
  verdict judge(std::uint64_t /*head*/, std::uint64_t word, NothingFound& /*leaf*/,
                runtime::Worker& /*worker*/) {
    return Env::number(word) % 2 == 0 ? verdict::keep : verdict::erase;
  }
  void rewrite(NodeT& leaf, const NothingFound& /*found*/) noexcept { leaf.store_due({}); }
  Change erasing(NodeT& /*leaf*/, std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept { return {}; }
  void erased(std::uint64_t word, runtime::Worker& worker) { context_->env.retire(worker, word); }
  void judged(const NothingFound& /*found*/, runtime::Worker& /*worker*/) noexcept {}
  runtime::step finished(runtime::Worker& /*worker*/) {
    *done_ = true;
    return runtime::step::done;
  }

 private:
  TreeContext<Env>* context_;
  OwnedKey* key_;
  bool* done_;
};

template <class Env>
class LeafWalkTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Walk = TreeWalk<Env>;
  static OwnedKey key(std::uint64_t n, std::uint64_t between = 0) {
    return spaced_key(OwnedKey{}, n, between);
  }

  static void fill(Under& tree, std::uint64_t keys) {
    for (std::uint64_t n = 0; n < keys; ++n) {
      tree.apply(key(n), verb::upsert, n);
    }
    tree.driver().settle();
  }
  static DueLeaves<Env> walk(Under& tree, std::size_t most_stops) {
    DueLeaves<Env> found;
    found.most_stops = most_stops;
    tree.driver().on_worker(0, [&](runtime::Worker& worker) {
      worker.create<DueWalkTask<Env>>(tree.context(), found)->start(worker);
    });
    tree.driver().run_until([&] { return found.done; });
    EXPECT_TRUE(found.done);
    return found;
  }
  /// The keys at which the due leaves begin.
  static std::vector<OwnedKey> due_leaves(Under& tree) {
    std::vector<OwnedKey> expected;
    for (const auto* leaf : Walk::level(tree.tree(), 0)) {
      if (leaf->due().reached(kNow)) {
        expected.push_back(leaf->low() == 0 ? OwnedKey{} : Walk::bound(*leaf));
      }
    }
    return expected;
  }
};

using LeafWalkEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>,
                                      ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(LeafWalkTest, LeafWalkEnvs);

TYPED_TEST(LeafWalkTest, EachLeafThatIsWantedIsMetOnceAndInOrder) {
  const std::uint64_t keys = kSlowRuns ? 2000 : 6000;
  for (const runtime::primitive how : kTreePrimitives) {
    SCOPED_TRACE(runtime::primitive_name(how));
    typename TestFixture::Under tree{driver_options(2), {how, how}};
    this->fill(tree, keys);
    const auto leaves = TestFixture::Walk::level(tree.tree(), 0);
    runtime::Random random{3};
    for (const std::uint64_t one_in : {1U, 3U, 200U, 100'000U}) {
      for (auto* leaf : leaves) {
        leaf->store_due(random.below(one_in) == 0 ? Due::at(kNow - 100, kNow) : Due::at(kNow + 100, kNow));
      }
      const auto expected = this->due_leaves(tree);
      EXPECT_EQ(this->walk(tree, 0).met, expected) << "one in " << one_in;
      const auto sliced = this->walk(tree, 1);
      EXPECT_EQ(sliced.met, expected) << "in slices, one in " << one_in;
      if (leaves.size() > 500) {
        EXPECT_GT(sliced.slices, 3U);
      }
    }
  }
}

TYPED_TEST(LeafWalkTest, HalvesThatSplitOffAreDueAsTheirLeafWas) {
  typename TestFixture::Under tree;
  this->fill(tree, 300);
  for (auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
    leaf->raise_order_floor(77);
    leaf->store_due(Due::at(kNow - 100, kNow));
    leaf->raise_order_floor(78);
  }
  const std::size_t before = TestFixture::Walk::level(tree.tree(), 0).size();
  for (std::uint64_t n = 0; n < 300; ++n) {
    for (std::uint64_t between = 1; between < 8; ++between) {
      tree.apply(this->key(n, between), verb::upsert, n);
    }
  }
  tree.driver().settle();
  const auto leaves = TestFixture::Walk::level(tree.tree(), 0);
  ASSERT_GT(leaves.size(), 2 * before);
  for (const auto* leaf : leaves) {
    ASSERT_TRUE(leaf->due().reached(kNow));
    ASSERT_EQ(leaf->order_floor(), 78U);
  }
  EXPECT_EQ(this->walk(tree, 0).met.size(), leaves.size());
}

// Some leaves have no separator while the walk passes by.
TYPED_TEST(LeafWalkTest, AmongSplitsEachLeafThatWasThereIsMetAndEachEntryIsPassed) {
  for (std::uint64_t seed = 1; seed <= (kSlowRuns ? 5U : 20U); ++seed) {
    SCOPED_TRACE(seed);
    typename TestFixture::Under tree{driver_options(2)};
    this->fill(tree, 300);
    for (auto* leaf : TestFixture::Walk::level(tree.tree(), 0)) {
      leaf->store_due(Due::at(kNow - 100, kNow));
    }
    const auto leaves = TestFixture::Walk::level(tree.tree(), 0);
    runtime::Random random{seed};
    std::vector<Operation<TypeParam>> inserts(600);
    DueLeaves<TypeParam> found;
    found.most_stops = seed % 2;
    for (std::size_t i = 0; i < inserts.size(); ++i) {
      inserts[i].key = this->key(random.below(300), 1 + i % 9);
      inserts[i].how = verb::upsert;
      inserts[i].operand = kInserted + i;
      tree.driver().on_worker(i % 2, [&](runtime::Worker& worker) {
        start_operation(tree.context(), inserts[i], worker);
        if (i == inserts.size() / 2) {
          worker.create<DueWalkTask<TypeParam>>(tree.context(), found)->start(worker);
        }
      });
    }
    tree.driver().run_until([&] {
      return found.done &&
             std::all_of(inserts.begin(), inserts.end(), [](const auto& insert) { return insert.done; });
    });
    ASSERT_TRUE(found.done);
    tree.driver().settle();
    EXPECT_GE(found.met.size(), leaves.size());
    for (const auto* const leaf : leaves) {
      EXPECT_TRUE(found.wanted.contains(leaf)) << "a leaf was left out";
    }
    EXPECT_EQ(std::ranges::count_if(found.words,
                                    [](std::uint64_t word) { return TypeParam::number(word) < kInserted; }),
              300);
  }
}

TYPED_TEST(LeafWalkTest, OneLeafIsRewrittenWhetherAnythingGoesOrNot) {
  for (const runtime::primitive how : kTreePrimitives) {
    SCOPED_TRACE(runtime::primitive_name(how));
    typename TestFixture::Under tree{driver_options(2), {how, how}};
    this->fill(tree, 200);
    const auto leaves = TestFixture::Walk::level(tree.tree(), 0);
    for (auto* leaf : leaves) {
      leaf->store_due(Due::at(kNow - 100, kNow));
    }
    auto* const leaf = leaves[leaves.size() / 2];
    const auto before = TestFixture::Walk::keys(*leaf);
    for (int round = 0; round < 2; ++round) {  // the second time there is nothing to remove
      bool done = false;
      auto key = TestFixture::Walk::bound(*leaf);
      tree.driver().on_worker(0, [&](runtime::Worker& worker) {
        worker.create<RewriteTask<TypeParam>>(tree.context(), key, done)->start(worker);
      });
      tree.driver().run_until([&] { return done; });
      ASSERT_TRUE(done);
      EXPECT_TRUE(leaf->due().never());
      const auto after = TestFixture::Walk::keys(*leaf);
      EXPECT_LT(after.size(), before.size());
      EXPECT_FALSE(after.empty());
      leaf->store_due(Due::at(kNow - 100, kNow));
    }
    EXPECT_EQ(this->due_leaves(tree).size(), TestFixture::Walk::level(tree.tree(), 0).size());
  }
}

}  // namespace
}  // namespace mxkv::index::testing

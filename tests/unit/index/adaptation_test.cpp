// Leaves that adapt: writers go to a pool where many met each other, and stay on their workers again when few
// come.
#include "index/adaptation.hpp"

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

using runtime::primitive;

template <class Env>
struct AdaptationTest : ::testing::Test {
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Walk = TreeWalk<Env>;
  using NodeT = typename Walk::NodeT;
  using Adapt = Adaptation<typename Env::Traits>;

  explicit AdaptationTest(TreeOptions how = {.leaves_adapt = true}) : tree(driver_options(2), how) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      put(n);
    }
  }
  void put(std::uint64_t n) { static_cast<void>(tree.apply(spaced_key(OwnedKey{}, n), verb::upsert, n)); }
  [[nodiscard]] NodeT& parent() { return *Walk::level(tree.tree(), 1).front(); }
  [[nodiscard]] NodeT& leaf() { return *Walk::children(parent()).front(); }
  /// The pointer to the leaf in its parent.
  [[nodiscard]] runtime::TaggedPointer way() { return runtime::TaggedPointer{parent().value(false, {0, 0})}; }
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> runtime::WorkerCounters::* what) {
    return (tree.driver().worker(0).counters().*what).load() +
           (tree.driver().worker(1).counters().*what).load();
  }
  void heat() {
    tree.driver().on_worker(
        0, [this](runtime::Worker& worker) { Adapt::heat(tree.tree(), leaf(), parent(), worker); });
  }

  Under tree;
};

using AdaptingEnvs = ::testing::Types<IntegerEnv<>, ByteEnv<>, ByteEnv<NodeShape<2, 2, 2, true>>>;
TYPED_TEST_SUITE(AdaptationTest, AdaptingEnvs);

TYPED_TEST(AdaptationTest, WritersOfAHotLeafRunInItsPoolAndOthersWhereTheyAre) {
  const std::uint64_t roots = this->sum(&runtime::WorkerCounters::bound);  // tasks by which the tree grew
  this->put(0);
  EXPECT_EQ(this->sum(&runtime::WorkerCounters::bound), roots);
  this->heat();
  EXPECT_EQ(this->leaf().synchronization(), primitive::optimistic_scheduling);
  EXPECT_EQ(this->way().synchronization(), primitive::optimistic_scheduling) << "its parent was told";
  EXPECT_EQ(this->way().pool_hint(), this->leaf().pool());
  this->put(0);
  const std::uint64_t bound = this->sum(&runtime::WorkerCounters::bound);
  EXPECT_GT(bound, roots);
  this->put(199);
  EXPECT_EQ(this->sum(&runtime::WorkerCounters::bound), bound) << "that leaf is as it was";
  EXPECT_EQ(this->tree.find(spaced_key(typename TypeParam::OwnedKey{}, 0)).number, 0U);
}

TYPED_TEST(AdaptationTest, ALeafWhoseLatchWasOftenLostIsHot) {
  runtime::Random random{1};
  this->tree.context().disturb = &random;  // as another worker's writer would
  for (int i = 0; i < 2'000 && this->sum(&runtime::WorkerCounters::turned_hot) == 0; ++i) {
    this->put(0);
  }
  EXPECT_EQ(this->sum(&runtime::WorkerCounters::turned_hot), 1U);
  EXPECT_EQ(this->leaf().synchronization(), primitive::optimistic_scheduling);
}

TYPED_TEST(AdaptationTest, ALeafThatFewWriteToCools) {
  this->heat();
  for (int i = 0; i < 100; ++i) {
    this->tree.driver().clock().advance_us(1'000);
    this->put(0);
  }
  EXPECT_EQ(this->sum(&runtime::WorkerCounters::turned_cold), 1U);
  EXPECT_EQ(this->leaf().synchronization(), primitive::optimistic_latch);
  EXPECT_EQ(this->way().synchronization(), primitive::optimistic_latch);
}

TYPED_TEST(AdaptationTest, OneThatManyWriteToStaysHot) {
  this->heat();
  for (int i = 0; i < 1'000; ++i) {
    this->tree.driver().clock().advance_us(50);
    this->put(0);
  }
  EXPECT_EQ(this->sum(&runtime::WorkerCounters::turned_cold), 0U);
}

TYPED_TEST(AdaptationTest, AParentThatWasNotToldIsToldByTheNextWriter) {
  this->heat();
  {
    const auto held = runtime::WriteLatch::acquire(this->parent(), 1);
    this->tree.driver().on_worker(0, [this](runtime::Worker& worker) {
      TestFixture::Adapt::cool(this->leaf(), this->parent(), worker);
    });
  }
  EXPECT_EQ(this->leaf().synchronization(), primitive::optimistic_latch);
  EXPECT_EQ(this->way().synchronization(), primitive::optimistic_scheduling);
  this->put(0);
  EXPECT_EQ(this->way().synchronization(), primitive::optimistic_latch);
}

TYPED_TEST(AdaptationTest, LeavesOfOtherTreesStayAsTheyAre) {
  TreeUnderTest<TypeParam> plain{driver_options(2)};
  runtime::Random random{1};
  plain.context().disturb = &random;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    static_cast<void>(plain.apply(spaced_key(typename TypeParam::OwnedKey{}, i % 200), verb::upsert, i));
  }
  EXPECT_EQ(plain.driver().worker(0).counters().turned_hot.load(), 0U);
  EXPECT_GT(plain.driver().worker(0).counters().conflicts.load(), 0U);
}

TYPED_TEST(AdaptationTest, OperationsDoAsAMapWhateverLeavesTurnTo) {
  TreeUnderTest<TypeParam> other{driver_options(3), {.leaves_adapt = true}};
  std::vector<typename TypeParam::OwnedKey> keys;
  for (std::uint64_t n = 0; n < 120; ++n) {
    keys.push_back(spaced_key(typename TypeParam::OwnedKey{}, n));
  }
  runtime::Random random{3};
  other.context().meanwhile = [&] {
    const auto parents = TestFixture::Walk::level(other.tree(), 1);
    if (other.tree().root_level() == 0 || random.below(8) != 0) {
      return;
    }
    auto* const above = parents[random.below(parents.size())];
    const auto below = TestFixture::Walk::children(*above);
    auto& leaf = *below[random.below(below.size())];
    auto& worker = other.driver().worker(0);
    random.below(2) == 0 ? TestFixture::Adapt::heat(other.tree(), leaf, *above, worker)
                         : TestFixture::Adapt::cool(leaf, *above, worker);
  };
  const auto model = compare_with_map(other, keys, 3'000, 5);
  other.context().meanwhile = {};
  other.expect_holds(model);
  EXPECT_GT(other.driver().worker(0).counters().turned_hot.load(), 10U);
}

}  // namespace
}  // namespace mxkv::index::testing

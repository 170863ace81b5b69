// Unlinking and folding need no memory: a tree that is emptied by deletes gets smaller while the allocator
// refuses everything. Work that inserts could not finish then is made up for when there is memory again.
#include <algorithm>

#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/taken_blocks.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

/// While it lasts, nodes and fences get only memory that comes back, and `left` blocks of each size.
class Shortage {
 public:
  Shortage(runtime::Runtime& runtime, std::size_t node_bytes, std::size_t left)
      : runtime_(runtime), limit_(runtime.budget().limit_bytes()) {
    runtime.budget().set_limit_bytes(0);
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      runtime::ValueHeap& heap = worker(i).nodes();
      taken_.take(heap, node_bytes, left);
      for (std::size_t bytes = runtime::kSmallestClassBytes; bytes <= kMostFenceBytes; bytes += 8) {
        taken_.take(heap, bytes, left);
      }
      refused_ += heap.stats().failed;
    }
  }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  ~Shortage() {
    runtime_.budget().set_limit_bytes(limit_);
    taken_.give_back();
  }
  /// Allocations that were refused since it began.
  [[nodiscard]] std::size_t refused() {
    std::size_t now = 0;
    for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
      now += worker(i).nodes().stats().failed;
    }
    return now - refused_;
  }

 private:
  static constexpr std::size_t kMostFenceBytes = kMaxKeyBytes + sizeof(SeparatorRecord);
  runtime::Worker& worker(std::size_t i) {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  runtime::Runtime& runtime_;
  std::size_t limit_;
  TakenBlocks taken_;
  std::size_t refused_ = 0;
};

template <class Env>
class WithoutMemory : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using NodeT = Node<typename Env::Traits::Shape>;
  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }
  static CheckReport check(Under& tree) {
    tree.driver().settle();
    return Checker<typename Env::Traits>::check(tree.tree());
  }
  static std::size_t node_bytes(Under& tree) { return live_bytes(tree.driver().runtime()).nodes; }

  /// The numbers below `count`: in order, backward, or mixed as `how` says.
  static std::vector<std::uint64_t> numbers(std::uint64_t count, std::uint64_t how) {
    std::vector<std::uint64_t> order(count);
    for (std::uint64_t n = 0; n < count; ++n) {
      order[n] = how == 1 ? count - 1 - n : n;
    }
    runtime::Random random{how};
    for (std::size_t i = count - 1; how > 1 && i > 0; --i) {
      std::swap(order[i], order[random.below(i + 1)]);
    }
    return order;
  }
};

using MemoryEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 2, 3, false>>,
                     ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<NodeShape<3, 2, 3, true>>>;
TYPED_TEST_SUITE(WithoutMemory, MemoryEnvs);

TYPED_TEST(WithoutMemory, DeletingAllInAnyOrderLeavesOneNodeALevel) {
  constexpr std::uint64_t kKeys = kSlowRuns ? 200 : 600;
  for (const runtime::primitive primitive : kTreePrimitives) {
    for (std::uint64_t how = kSlowRuns ? 3 : 0; how < 4; ++how) {
      SCOPED_TRACE(std::string{runtime::primitive_name(primitive)} + ", order " + std::to_string(how));
      typename TestFixture::Under tree{driver_options(2), {primitive, primitive}};
      for (const std::uint64_t n : this->numbers(kKeys, 5)) {
        tree.apply(this->key(n), verb::upsert, n);
      }
      const CheckReport full = this->check(tree);
      {
        Shortage shortage{tree.driver().runtime(), sizeof(typename TestFixture::NodeT), 0};
        const std::size_t before = this->node_bytes(tree);
        for (const std::uint64_t n : this->numbers(kKeys, how)) {
          ASSERT_TRUE(tree.apply(this->key(n), verb::remove).found);
        }
        const CheckReport empty = this->check(tree);
        EXPECT_THAT(empty.errors, ::testing::IsEmpty());
        EXPECT_EQ(empty.nodes, full.levels) << "of " << full.nodes;
        EXPECT_EQ(shortage.refused(), 0U) << "nobody even asked";
        for (int i = 0; i < 10; ++i) {
          tree.driver().clock().advance_us(100'000);
          tree.driver().settle();
        }
        EXPECT_LE(this->node_bytes(tree) + (full.nodes - full.levels) * sizeof(typename TestFixture::NodeT),
                  before)
            << "what was unlinked has come back";
      }
      tree.expect_holds({});
    }
  }
}

// Leaves split, and there is no memory to tell their parents. Such leaves stay when they are emptied, until a
// task passes by when there is memory.
TYPED_TEST(WithoutMemory, NodesThatTheirParentsDoNotKnowGoOnceTheyAreKnown) {
  constexpr std::uint64_t kBefore = 150;
  constexpr std::uint64_t kKeys = 400;
  std::size_t unknown = 0;
  std::size_t failed = 0;
  for (std::size_t left = 0; left < 24; ++left) {
    SCOPED_TRACE(left);
    typename TestFixture::Under tree;
    const auto order = this->numbers(kKeys, 2 + left);
    for (std::uint64_t i = 0; i < kBefore; ++i) {
      tree.apply(this->key(order[i]), verb::upsert, i);
    }
    tree.driver().settle();
    {
      const Shortage shortage{tree.driver().runtime(), sizeof(typename TestFixture::NodeT), left};
      std::vector<bool> there(kKeys, true);
      for (std::uint64_t i = kBefore; i < kKeys; ++i) {
        there[i] = !tree.apply(this->key(order[i]), verb::upsert, i).failed;
        failed += there[i] ? 0 : 1;
      }
      unknown += this->check(tree).pending;
      for (std::uint64_t i = 0; i < kKeys; ++i) {
        ASSERT_EQ(tree.apply(this->key(order[i]), verb::remove).found, there[i]);
      }
      const CheckReport report = this->check(tree);
      EXPECT_THAT(report.errors, ::testing::IsEmpty());
      EXPECT_EQ(report.entries, 0U);
      EXPECT_EQ(report.left_over, 0U);
    }
    for (const std::uint64_t n : order) {
      EXPECT_FALSE(tree.find(this->key(n)).found);
    }
    tree.expect_holds({});
    const CheckReport report = this->check(tree);
    EXPECT_EQ(report.nodes, report.levels);
  }
  EXPECT_GT(failed, 0U);
  EXPECT_GT(unknown, 0U) << "no separator was lost";
}

}  // namespace
}  // namespace mxkv::index::testing

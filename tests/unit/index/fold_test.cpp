// An inner node with one child gives it to its left neighbour as soon as the neighbour is at most half full;
// until then the node stays.
#include <algorithm>
#include <deque>

#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

/// Keys in order, with room between two of them; byte keys with different heads, so that nodes fill up.
std::uint64_t plain_key(std::uint64_t /*kind*/, std::uint64_t n, std::uint64_t between = 0) {
  return 1000 + 4 * n + between;
}
std::string plain_key(const std::string& /*kind*/, std::uint64_t n, std::uint64_t between = 0) {
  return std::to_string(1'000'000 + n) + std::string(between, '+');
}

template <class Env>
class FoldTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Walk = TreeWalk<Env>;
  using NodeT = typename Walk::NodeT;
  static constexpr unsigned kMost = Env::Traits::Shape::capacity(false);

  static bool has_room(const NodeT& left) { return 2 * left.meta().total() <= kMost; }

  /// Fills a tree in order until `inner_nodes` of them have a parent, then makes the second one as full as
  /// can be. The third one is to be thin.
  void fill(Under& tree, unsigned inner_nodes = 4) {
    while (left_ == nullptr) {
      put(tree, plain_key(OwnedKey{}, next_++));
      tree.driver().settle();
      const auto above = Walk::level(tree.tree(), 2);
      if (above.front()->meta().level() == 2 && above.front()->meta().total() == inner_nodes) {
        const auto inner = Walk::children(*above.front());
        left_ = inner[1];
        thin_ = inner[2];
        bound_ = Walk::bound(*thin_);
      }
    }
    ASSERT_EQ(left_->meta().total(), kMost - 1) << "sorted loads leave full nodes";
    crowd(tree, *Walk::children(*left_).back());
    ASSERT_EQ(left_->meta().total(), kMost);
  }
  /// Inserts keys between a leaf's keys until its parent has another child, or splits.
  void crowd(Under& tree, const NodeT& leaf) {
    const auto keys = Walk::keys(leaf);
    const unsigned children = left_->meta().total();
    const std::uint64_t first = number_of(keys.front());
    for (std::uint64_t n = first; n < first + keys.size() && left_->meta().total() == children; ++n) {
      for (std::uint64_t between = 1; between < 4 && left_->meta().total() == children; ++between) {
        put(tree, plain_key(OwnedKey{}, n, between));
        tree.driver().settle();
      }
    }
  }
  [[nodiscard]] std::uint64_t number_of(const OwnedKey& key) const {
    std::uint64_t n = 0;
    while (plain_key(OwnedKey{}, n) != key) {
      ++n;
    }
    return n;
  }
  void put(Under& tree, const OwnedKey& key) {
    tree.apply(key, verb::upsert, model_.size());
    model_.emplace(key, model_.size());
  }
  void remove_below(Under& tree, const NodeT& node) {
    for (const OwnedKey& key : Walk::keys(node)) {
      ASSERT_TRUE(tree.apply(key, verb::remove).found);
      model_.erase(key);
    }
    tree.driver().settle();
  }
  /// Takes children from the left neighbour until it has `children`.
  void trim(Under& tree, unsigned children) {
    while (left_->meta().total() > children) {
      remove_below(tree, *Walk::children(*left_).back());
    }
  }
  /// Leaves the thin node its first child, with or without keys.
  void thin_out(Under& tree, bool keep_keys) {
    const auto children = Walk::children(*thin_);
    for (std::size_t i = keep_keys ? 1 : 0; i < children.size(); ++i) {
      remove_below(tree, *children[i]);
    }
  }
  /// Leaves the thin node its first child, and another child with one key, which is returned.
  OwnedKey leave_one_key(Under& tree) {
    const auto children = Walk::children(*thin_);
    for (std::size_t i = 2; i < children.size(); ++i) {
      remove_below(tree, *children[i]);
    }
    auto keys = Walk::keys(*children[1]);
    for (; keys.size() > 1; keys.pop_back()) {
      tree.apply(keys.back(), verb::remove);
      model_.erase(keys.back());
    }
    tree.driver().settle();
    return keys.front();
  }
  /// Makes the left neighbour's last child split, by one worker alone.
  void crowd_from(Under& tree, std::size_t worker) {
    const auto keys = Walk::keys(*Walk::children(*left_).back());
    std::deque<Operation<Env>> inserts;
    const std::uint64_t first = number_of(keys.front());
    for (std::uint64_t i = 0; i < 2 * keys.size(); ++i) {
      Operation<Env>& insert = inserts.emplace_back();
      insert.key = plain_key(OwnedKey{}, first + i / 3, 1 + i % 3);
      insert.how = verb::upsert;
      insert.operand = model_.size();
      model_.emplace(insert.key, model_.size());
      tree.driver().on_worker(worker, [&](auto& here) { start_operation(tree.context(), insert, here); });
      for (int steps = 0; steps < 60; ++steps) {
        tree.driver().worker(worker).step();
      }
    }
    tree.driver().settle();
    EXPECT_TRUE(std::all_of(inserts.begin(), inserts.end(), [](const auto& insert) { return insert.done; }));
  }
  [[nodiscard]] bool folded(Under& tree) const {
    const auto inner = Walk::level(tree.tree(), 1);
    return std::none_of(inner.begin(), inner.end(),
                        [this](const NodeT* node) { return Walk::bound(*node) == bound_; });
  }
  void expect_holds(Under& tree) {
    tree.expect_holds(model_);
    for (const bool backward : {false, true}) {
      const OwnedKey from = backward ? plain_key(OwnedKey{}, next_) : plain_key(OwnedKey{}, 0);
      EXPECT_EQ(tree.range(from, backward, 100'000).entries,
                tree.expected_range(model_, from, backward, 100'000));
    }
  }
  void begin() {
    model_.clear();
    next_ = 0;
    left_ = thin_ = nullptr;
  }

  typename Under::Model model_;
  std::uint64_t next_ = 0;
  NodeT* left_ = nullptr;
  NodeT* thin_ = nullptr;
  OwnedKey bound_{};
};

using FoldEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 3, 3, false>>,
                     IntegerEnv<NodeShape<2, 6, 8, false>>, ByteEnv<NodeShape<2, 2, 2, true>>,
                     ByteEnv<NodeShape<2, 4, 8, true>>>;
TYPED_TEST_SUITE(FoldTest, FoldEnvs);

TYPED_TEST(FoldTest, ANeighbourThatIsAtMostHalfFullTakesOverTheLastChild) {
  constexpr unsigned kHalf = TestFixture::kMost / 2;
  for (unsigned children = 1; children <= TestFixture::kMost; ++children) {
    if (kSlowRuns && children != kHalf && children != kHalf + 1 && children != TestFixture::kMost) {
      continue;
    }
    for (const bool keep_keys : {false, true}) {
      SCOPED_TRACE(std::to_string(children) + (keep_keys ? " children, and keys" : " children"));
      this->begin();
      typename TestFixture::Under tree;
      ASSERT_NO_FATAL_FAILURE(this->fill(tree));
      ASSERT_NO_FATAL_FAILURE(this->trim(tree, children));
      const bool folds = this->has_room(*this->left_);
      ASSERT_NO_FATAL_FAILURE(this->thin_out(tree, keep_keys));
      EXPECT_EQ(this->folded(tree), folds);
      EXPECT_EQ(tree.tree().unlinks().branches.load(), folds ? 1U : 0U);
      EXPECT_EQ(tree.tree().unlinks().undone.load(), 0U) << "who looks first need not undo anything";
      EXPECT_EQ(this->left_->meta().total(), children + (folds && keep_keys ? 1 : 0))
          << "a child without keys goes, too, once it is not the first one any more";
      this->expect_holds(tree);
    }
  }
}

TYPED_TEST(FoldTest, AThinNodeGoesAsSoonAsItsNeighbourIsHalfEmpty) {
  typename TestFixture::Under tree;
  ASSERT_NO_FATAL_FAILURE(this->fill(tree));
  ASSERT_NO_FATAL_FAILURE(this->thin_out(tree, true));
  for (unsigned children = TestFixture::kMost; !this->folded(tree); --children) {
    ASSERT_EQ(this->left_->meta().total(), children);
    ASSERT_FALSE(this->has_room(*this->left_));
    ASSERT_NO_FATAL_FAILURE(this->remove_below(tree, *TestFixture::Walk::children(*this->left_).back()));
  }
  EXPECT_EQ(this->left_->meta().total(), TestFixture::kMost / 2 + 1) << "with the other one's child";
  this->expect_holds(tree);
}

TYPED_TEST(FoldTest, AThinNodeGoesWhenItsNeighbourSplits) {
  typename TestFixture::Under tree;
  ASSERT_NO_FATAL_FAILURE(this->fill(tree, 3));  // so that their parent does not split, too
  ASSERT_NO_FATAL_FAILURE(this->thin_out(tree, true));
  ASSERT_FALSE(this->folded(tree));
  this->crowd(tree, *TestFixture::Walk::children(*this->left_).front());
  ASSERT_LT(this->left_->meta().total(), TestFixture::kMost) << "it has split";
  // Of an odd number of children the right half gets more than half of the capacity.
  EXPECT_EQ(this->folded(tree), TestFixture::kMost % 2 == 0);
  this->expect_holds(tree);
}

// The neighbour is just at the limit when the unlink begins, and above it some steps later.
TYPED_TEST(FoldTest, AFoldThatFindsNoRoomAfterAllIsUndone) {
  std::uint64_t undone = 0;
  std::uint64_t folded = 0;
  for (int steps = 0; steps < 24; steps += kSlowRuns ? 3 : 1) {
    SCOPED_TRACE(steps);
    this->begin();
    runtime::RuntimeOptions options = driver_options(2);
    options.batch_tasks = 1;
    options.stealing = options.order_reach = runtime::stealing_scope::off;
    typename TestFixture::Under tree{options};
    ASSERT_NO_FATAL_FAILURE(this->fill(tree));
    ASSERT_NO_FATAL_FAILURE(this->trim(tree, TestFixture::kMost / 2));
    ASSERT_TRUE(this->has_room(*this->left_));
    const auto last = this->leave_one_key(tree);
    Operation<TypeParam> removal;
    removal.key = last;
    removal.how = verb::remove;
    tree.driver().on_worker(0, [&](auto& worker) { start_operation(tree.context(), removal, worker); });
    for (int i = 0; i < steps; ++i) {
      tree.driver().worker(0).step();
    }
    this->crowd_from(tree, 1);
    tree.driver().settle();
    ASSERT_TRUE(removal.done);
    this->model_.erase(last);
    undone += tree.tree().unlinks().undone.load();
    folded += tree.tree().unlinks().branches.load();
    this->expect_holds(tree);
  }
  EXPECT_GT(undone, 0U);
  EXPECT_GT(folded, 0U) << "no unlink was through before";
}

}  // namespace
}  // namespace mxkv::index::testing

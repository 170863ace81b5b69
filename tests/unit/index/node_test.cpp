// One node: entries stay in order across blocks, within the blocks' fences, whatever comes and goes.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "index/search.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::index {
namespace {

#ifdef MXKV_VECTOR_COMPARE
constexpr int kOperations = 20'000;
#else
constexpr int kOperations = 4'000;  // with a sanitizer, whose runs take long
#endif

template <class Shape>
class NodeTest : public ::testing::Test {
 protected:
  using NodeT = Node<Shape>;
  using Traits = IntegerTraits<Shape>;

  Found find(std::uint64_t key) const {
    const NodeMeta meta = node_->meta();
    const runtime::OptimisticRead read{*node_};
    return Search<Traits>::find(*node_, meta, true, key, key, node_->block_for(meta, key, false), read,
                                false);
  }
  /// Inserts as InsertPlan does, without splits. False: full.
  bool insert(std::uint64_t key) {
    const Position at = find(key).at;
    const NodeMeta meta = node_->meta();
    if (node_->fits(meta, at)) {
      node_->insert(at, key, ~key, 0);
    } else if (node_->can_open_block(meta, at)) {
      node_->open_block(key, ~key, 0);
    } else if (meta.total() < Shape::capacity(true)) {
      Entries entries;
      node_->copy_entries(meta, false, entries);
      entries.insert(NodeT::rank_of(meta, at), key, ~key, 0);
      node_->layout(entries, 0, entries.count);
    } else {
      return false;
    }
    return true;
  }
  void expect_holds(const std::map<std::uint64_t, bool>& model) const {
    const NodeMeta meta = node_->meta();
    Entries entries;
    node_->copy_entries(meta, false, entries);
    ASSERT_EQ(entries.count, model.size());
    ASSERT_EQ(meta.total(), model.size());
    unsigned i = 0;
    for (const auto& [key, unused] : model) {
      ASSERT_EQ(entries.heads[i], key);
      ASSERT_EQ(entries.values[i], ~key);
      ASSERT_EQ(NodeT::rank_of(meta, find(key).at), i++);
    }
  }

  std::unique_ptr<NodeT> node_ =
      std::make_unique<NodeT>(runtime::PoolId{1}, runtime::primitive::optimistic_latch, 0, 0);
};

using Shapes =
    ::testing::Types<NodeShape<2, 2, 2, false>, NodeShape<3, 3, 3, false>, NodeShape<6, 6, 8, false>>;
TYPED_TEST_SUITE(NodeTest, Shapes);

TYPED_TEST(NodeTest, HoldsWhatASortedMapHoldsUntilItIsFull) {
  runtime::Random random{3};
  constexpr std::uint64_t kGreatest = ~std::uint64_t{0};
  std::map<std::uint64_t, bool> model;
  for (int i = 0; i < kOperations; ++i) {
    const std::uint64_t key = random.below(8) == 0 ? kGreatest - random.below(2) : random.below(70);
    const Found found = this->find(key);
    ASSERT_EQ(found.found(), model.contains(key));
    if (!found.found()) {
      const bool full = model.size() == TypeParam::capacity(true);
      ASSERT_EQ(this->insert(key), !full);
      if (!full) {
        model.emplace(key, true);
      }
    } else if (random.below(2) == 0) {
      this->node_->erase(found.at);
      model.erase(key);
    }
    ASSERT_NO_FATAL_FAILURE(this->expect_holds(model));
  }
}

TYPED_TEST(NodeTest, TakesInEntriesUntilAllItsBlocksAreFull) {
  runtime::Random random{4};
  for (int i = 0; i < kOperations / 100; ++i) {
    Entries entries;
    std::map<std::uint64_t, bool> model;
    for (std::uint64_t key = 1; key <= TypeParam::blocks(true); ++key) {  // one a block
      entries.insert(entries.count, key << 32U, ~(key << 32U), 0);
      model.emplace(key << 32U, true);
    }
    this->node_->layout(entries, 0, entries.count);
    while (model.size() < TypeParam::capacity(true)) {
      const std::uint64_t key = random.below((TypeParam::blocks(true) + 1ULL) << 32U);
      const Position at = this->find(key).at;
      ASSERT_TRUE(model.emplace(key, true).second);
      ASSERT_TRUE(this->node_->fits(this->node_->meta(), at));
      this->node_->insert(at, key, ~key, 0);
      ASSERT_NO_FATAL_FAILURE(this->expect_holds(model));
    }
    for (const auto& [key, unused] : model) {
      ASSERT_FALSE(this->node_->fits(this->node_->meta(), this->find(key).at));
    }
  }
}

TYPED_TEST(NodeTest, GivesHalfOfItsBlocksAway) {
  using Full = Node<TypeParam>;
  constexpr unsigned kBlocks = TypeParam::blocks(true);
  Entries entries;
  std::map<std::uint64_t, bool> low;
  std::map<std::uint64_t, bool> high;
  for (std::uint64_t key = 0; key < TypeParam::capacity(true); ++key) {
    ASSERT_FALSE(Full::divides_by_blocks(this->node_->meta(), kBlocks));
    entries.insert(entries.count, key, ~key, 0);
    (2 * key < TypeParam::capacity(true) ? low : high).emplace(key, true);
    this->node_->layout(entries, 0, entries.count);
  }
  ASSERT_EQ(Full::divides_by_blocks(this->node_->meta(), kBlocks),
            kBlocks % 2 == 0 && TypeParam::kSlots % 2 == 0);
  if (Full::divides_by_blocks(this->node_->meta(), kBlocks)) {
    auto right = std::make_unique<Full>(runtime::PoolId{1}, runtime::primitive::optimistic_latch, 0, 0);
    right->take_upper_half(*this->node_, kBlocks);
    this->node_->keep_lower_half(kBlocks);
    ASSERT_NO_FATAL_FAILURE(this->expect_holds(low));
    std::swap(this->node_, right);
    ASSERT_NO_FATAL_FAILURE(this->expect_holds(high));
  }
}

TEST(Node, KeepsSeparatorsWithTheirEntries) {
  using Shape = NodeShape<6, 4, 8, true>;
  runtime::Random random{5};
  for (int i = 0; i < kOperations / 100; ++i) {
    Node<Shape> node{runtime::PoolId{1}, runtime::primitive::optimistic_latch, 1, 0};
    Entries entries;
    entries.insert(0, 0, 1, 2);
    for (std::uint64_t key = 1; key < Shape::blocks(false); ++key) {
      entries.insert(entries.count, key << 32U, (key << 32U) + 1, (key << 32U) + 2);
    }
    node.layout(entries, 0, entries.count);
    while (entries.count < Shape::capacity(false)) {
      const std::uint64_t key = random.below((Shape::blocks(false) + 1ULL) << 32U) | 4;
      const NodeMeta meta = node.meta();
      const unsigned block = node.block_for(meta, key, false);
      const Position at{static_cast<std::uint8_t>(block),
                        static_cast<std::uint8_t>(node.count_below(false, block, rank_of_head(key)))};
      ASSERT_TRUE(node.fits(meta, at));
      entries.insert(Node<Shape>::rank_of(meta, at), key, key + 1, key + 2);
      node.insert(at, key, key + 1, key + 2);
      Entries held;
      node.copy_entries(node.meta(), true, held);
      ASSERT_EQ(held.count, entries.count);
      for (unsigned n = 0; n < held.count; ++n) {
        ASSERT_EQ(held.heads[n], entries.heads[n]);
        ASSERT_EQ(held.values[n], held.heads[n] + 1);
        ASSERT_EQ(held.separators[n], held.heads[n] + 2);
      }
    }
    ASSERT_FALSE(node.meta().ties());
  }
}

TEST(NodeMeta, FieldsDoNotTouchEachOther) {
  NodeMeta meta{0};
  meta = meta.with_blocks(6).with_level(23).with_prefix(250).with_high_infinite(true);
  for (unsigned block = 0; block < NodeMeta::kMaxBlocks; ++block) {
    meta = meta.with_count(block, block + 3);
  }
  EXPECT_EQ(meta.blocks(), 6U);
  EXPECT_EQ(meta.level(), 23U);
  EXPECT_EQ(meta.prefix_bytes(), 250U);
  EXPECT_TRUE(meta.high_infinite());
  EXPECT_EQ(meta.total(), 3U + 4 + 5 + 6 + 7 + 8);
  EXPECT_EQ(meta.with_count(2, 0).total(), meta.total() - 5);
}

}  // namespace
}  // namespace mxkv::index

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
    return Search<Traits>::template find<cases::all>(*node_, meta, true, key, key,
                                                     node_->block_for(meta, key, false), read, false);
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

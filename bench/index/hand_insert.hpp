// The ceiling for task-based inserts: a loop written by hand puts entries into the same nodes, and keeps a
// group of inserts in flight. It has no tasks, versions, latches or pins, and inserts a split's separator
// into the parent at once.
#pragma once

#include <cstdint>
#include <vector>

#include "index/insert_plan.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::bench {

/// Integer keys only. Thread-safety: none; no other thread may use the tree.
template <class Traits>
class HandInsert {
 public:
  using NodeT = index::Node<typename Traits::Shape>;
  using TreeT = index::Tree<Traits>;
  static_assert(Traits::kExact);

  HandInsert(TreeT& tree, runtime::Worker& worker, unsigned in_flight)
      : tree_(tree), worker_(worker), walks_(in_flight) {}

  /// Inserts `operations` keys, each from next_key(), with the value ~key. Returns the number of keys that
  /// existed already, or found no memory.
  template <class NextKey>
  std::uint64_t run(std::uint64_t operations, const NextKey& next_key) {
    std::uint64_t begun = 0;
    for (Walk& walk : walks_) {
      begin(walk, next_key, begun < operations);
      ++begun;
    }
    for (std::uint64_t done = 0; done < operations;) {
      for (Walk& walk : walks_) {
        if (walk.where != step::none && goes(walk)) {
          ++done;
          begin(walk, next_key, begun < operations);
          ++begun;
        }
      }
    }
    return wrong_;
  }

 private:
  enum class step : std::uint8_t { none, header, block, beside };
  struct Walk {
    NodeT* node;
    index::Rank rank;
    unsigned level;
    step where;
  };

  static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }
  /// Other inserts may have split the node since.
  static NodeT* right_of(NodeT* node, index::Rank rank) noexcept {
    while ((node->bounds_above(rank) & NodeT::kHighAbove) == 0 && !node->meta().high_infinite()) {
      node = node_of(node->right());
    }
    return node;
  }
  static index::Position place(const NodeT& node, bool leaf, index::Rank rank) noexcept {
    const unsigned block = node.block_for(node.meta(), head(rank), false);
    return index::Search<Traits>::position(
        block, leaf ? node.count_below(true, block, rank) : node.count_up_to(false, block, rank));
  }
  static NodeT* child_of(const NodeT& node, index::Rank rank) noexcept {
    index::Position at = place(node, false, rank);
    at.slot = at.slot == 0 ? at.slot : static_cast<std::uint8_t>(at.slot - 1);
    return node_of(node.value(false, at));
  }
  static std::uint64_t head(index::Rank rank) noexcept {
    return index::head_of_rank(static_cast<std::uint64_t>(rank));
  }

  template <class NextKey>
  void begin(Walk& walk, const NextKey& next_key, bool any) noexcept {
    walk.where = any ? step::header : step::none;
    if (!any) {
      return;
    }
    walk.rank = index::rank_of_head(next_key());
    walk.node = node_of(tree_.root().word());
    walk.level = walk.node->meta().level();
    while (walk.level > 0 && walk.level >= tree_.near_level()) {
      walk.node = child_of(*right_of(walk.node, walk.rank), walk.rank);
      --walk.level;
    }
    runtime::prefetch_read(walk.node);
  }

  /// One hop. Returns true when the entry is inserted.
  bool goes(Walk& walk) noexcept {
    walk.node = right_of(walk.node, walk.rank);
    if (walk.where == step::header) {
      const bool leaf = walk.level == 0;
      const index::Position at = place_block(walk);
      const std::byte* line = reinterpret_cast<const std::byte*>(walk.node) +
                              std::size_t{NodeT::first_line_of(at.block, leaf)} * runtime::kCacheLineBytes;
      runtime::prefetch_read(line);
      runtime::prefetch_read(line + runtime::kCacheLineBytes);
      walk.where = step::block;
      return false;
    }
    if (walk.level > 0) {
      walk.node = child_of(*walk.node, walk.rank);
      --walk.level;
      walk.where = step::header;
      runtime::prefetch_read(walk.node);
      return false;
    }
    return at_leaf(walk);
  }
  static index::Position place_block(const Walk& walk) noexcept {
    return {static_cast<std::uint8_t>(walk.node->block_for(walk.node->meta(), head(walk.rank), false)), 0};
  }

  bool at_leaf(Walk& walk) noexcept {
    NodeT* const leaf = walk.node;
    const index::NodeMeta meta = leaf->meta();
    const index::Position at = place(*leaf, true, walk.rank);
    if (leaf->holds_rank(true, at.block, at.slot, walk.rank)) {
      ++wrong_;
      return true;
    }
    if (!leaf->fits_alone(meta, at) && walk.where == step::block) {
      const unsigned to = NodeT::room_beside(meta, at.block);
      leaf->prefetch_beside(at.block, to, true);
      if (to == at.block) {
        TreeT::prefetch_next_node(worker_);
      }
      walk.where = step::beside;
      return false;
    }
    if (leaf->fits(meta, at)) {
      leaf->insert(at, head(walk.rank), ~head(walk.rank), 0);
    } else {
      make_room(leaf, walk.rank, ~head(walk.rank));
    }
    return true;
  }

  /// Inserts into a node, and splits it if it is full.
  void make_room(NodeT* node, index::Rank rank, std::uint64_t value) noexcept {
    for (;;) {
      node = right_of(node, rank);
      const unsigned level = node->meta().level();
      index::InsertPlan<Traits> plan;
      if (plan.plan(tree_, *node, node->version().load(std::memory_order_relaxed), head(rank),
                    place(*node, level == 0, rank), worker_) != index::planned::ready) {
        ++wrong_;
        return;
      }
      if (!plan.splits()) {
        plan.insert(*node, head(rank), value, head(rank));
        return;
      }
      plan.split(*node);
      post(plan.separator(), *plan.right(), level + 1, *node);
    }
  }

  /// Inserts the separator of a split's right half into the parent level.
  void post(std::uint64_t separator, NodeT& right, unsigned level, const NodeT& left) noexcept {
    NodeT* node = node_of(tree_.root().word());
    if (node->meta().level() < level) {
      grow(separator, right, level, left);
      return;
    }
    const index::Rank rank = index::rank_of_head(separator);
    for (unsigned at = node->meta().level(); at > level; --at) {
      node = child_of(*right_of(node, rank), rank);
    }
    make_room(node, rank, TreeT::tag(&right).word());
    right.life().set_separator_pending(false);
  }
  void grow(std::uint64_t separator, NodeT& right, unsigned level, const NodeT& left) noexcept {
    NodeT* const root = tree_.allocate_node(worker_, level, right.life().generation());
    if (root == nullptr) {
      ++wrong_;
      return;
    }
    index::Entries entries;
    entries.insert(0, 0, TreeT::tag(&left).word(), 0);
    entries.insert(1, separator, TreeT::tag(&right).word(), separator);
    root->layout(entries, 0, 2);
    tree_.publish_root(root);
    right.life().set_separator_pending(false);
  }

  TreeT& tree_;
  runtime::Worker& worker_;
  std::vector<Walk> walks_;
  std::uint64_t wrong_ = 0;
};

}  // namespace mxkv::bench

// The ceiling for task-based look-ups and updates: a loop written by hand walks the nodes of the same tree, and
// keeps a group of operations in flight. It has no tasks, versions, latches or pins, so it is correct only while
// no other thread writes.
#pragma once

#include <cstdint>
#include <vector>

#include "index/search.hpp"
#include "index/tree.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::bench {

/// Integer keys only. Thread-safety: none; the tree must not change.
template <class Traits>
class HandWalk {
 public:
  using NodeT = index::Node<typename Traits::Shape>;
  static_assert(Traits::kExact);

  HandWalk(const index::Tree<Traits>& tree, unsigned in_flight)
      : root_(node_of(tree.root().word())), near_level_(tree.near_level()), walks_(in_flight) {}

  /// Looks up `operations` keys, each from next_key(), and calls check(key, value or 0) for each.
  template <class NextKey, class Check>
  void run(std::uint64_t operations, const NextKey& next_key, const Check& check) {
    const auto read = [&check](std::uint64_t key, NodeT* leaf, index::Position at) {
      check(key, leaf == nullptr ? 0 : leaf->value(true, at));
    };
    index::line_compare::in_best_way(
        [&](auto compare) { run_by<decltype(compare)>(operations, next_key, read); });
  }
  /// The same, with end(key, leaf or null, position) for each: it may change the entry there.
  template <class NextKey, class End>
  void run_to_entries(std::uint64_t operations, const NextKey& next_key, const End& end) {
    index::line_compare::in_best_way(
        [&](auto compare) { run_by<decltype(compare)>(operations, next_key, end); });
  }

 private:
  template <class Compare, class NextKey, class End>
  void run_by(std::uint64_t operations, const NextKey& next_key, const End& end) {
    for (Walk& walk : walks_) {
      begin<Compare>(walk, next_key());
    }
    for (std::uint64_t done = 0; done < operations;) {
      for (Walk& walk : walks_) {
        if (!walk.at_block) {
          to_block<Compare>(walk);
        } else if (walk.level > 0) {
          enter(walk, child_of<Compare>(*walk.node, walk.rank, walk.block));
        } else {
          const unsigned slot = walk.node->template count_below<Compare>(true, walk.block, walk.rank);
          const bool holds = walk.node->holds_rank(true, walk.block, slot, walk.rank);
          end(index::head_of_rank(static_cast<std::uint64_t>(walk.rank)), holds ? walk.node : nullptr,
              index::Search<Traits>::position(walk.block, slot));
          ++done;
          begin<Compare>(walk, next_key());
        }
      }
    }
  }

  struct Walk {
    NodeT* node;
    index::Rank rank;
    unsigned level;
    unsigned block;
    bool at_block;
  };

  static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }
  template <class Compare>
  static NodeT* child_of(const NodeT& node, index::Rank rank, unsigned block) noexcept {
    const unsigned below = node.template count_up_to<Compare>(false, block, rank);
    return node_of(node.value(false, index::Search<Traits>::position(block, below == 0 ? 0 : below - 1)));
  }

  template <class Compare>
  void begin(Walk& walk, std::uint64_t key) const noexcept {
    walk.rank = index::rank_of_head(key);
    NodeT* node = root_;
    walk.level = node->meta().level();
    while (walk.level > 0 && walk.level >= near_level_) {
      node = child_of<Compare>(*node, walk.rank,
                               NodeT::block_below(node->template bounds_above<Compare>(walk.rank)));
      --walk.level;
    }
    enter_at(walk, node);
  }
  static void enter(Walk& walk, NodeT* node) noexcept {
    --walk.level;
    enter_at(walk, node);
  }
  static void enter_at(Walk& walk, NodeT* node) noexcept {
    walk.node = node;
    walk.at_block = false;
    runtime::prefetch_read(node);
  }
  template <class Compare>
  static void to_block(Walk& walk) noexcept {
    walk.block = NodeT::block_below(walk.node->template bounds_above<Compare>(walk.rank));
    walk.at_block = true;
    const std::byte* line =
        reinterpret_cast<const std::byte*>(walk.node) +
        std::size_t{NodeT::first_line_of(walk.block, walk.level == 0)} * runtime::kCacheLineBytes;
    runtime::prefetch_read(line);
    runtime::prefetch_read(line + runtime::kCacheLineBytes);
  }
  NodeT* root_;
  unsigned near_level_;
  std::vector<Walk> walks_;
};

}  // namespace mxkv::bench

// The nodes of a tree that no task changes, as a test wants to see them.
#pragma once

#include <vector>

#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {

template <class Env>
struct TreeWalk {
  using Traits = typename Env::Traits;
  using OwnedKey = typename Env::OwnedKey;
  using NodeT = Node<typename Traits::Shape>;
  using Nodes = std::vector<NodeT*>;

  /// The nodes of a level, from left to right.
  static Nodes level(const Tree<Traits>& tree, unsigned wanted) {
    auto* node = static_cast<NodeT*>(tree.root().object());
    while (node->meta().level() > wanted) {
      node = referred(node->value(false, Position{}));
    }
    Nodes nodes;
    for (; node != nullptr; node = referred(node->right())) {
      nodes.push_back(node);
    }
    return nodes;
  }
  /// The part of the leaves' room that has entries.
  static double fill(const Tree<Traits>& tree) {
    std::size_t entries = 0;
    const Nodes leaves = level(tree, 0);
    for (const NodeT* leaf : leaves) {
      entries += leaf->meta().total();
    }
    return static_cast<double>(entries) / static_cast<double>(leaves.size() * Traits::Shape::capacity(true));
  }
  static Nodes children(const NodeT& inner) {
    Nodes nodes;
    for (const std::uint64_t word : values(inner)) {
      nodes.push_back(referred(word));
    }
    return nodes;
  }
  /// The keys below a node.
  static std::vector<OwnedKey> keys(const NodeT& node) {
    std::vector<OwnedKey> found;
    if (!node.leaf()) {
      for (const NodeT* child : children(node)) {
        const auto below = keys(*child);
        found.insert(found.end(), below.begin(), below.end());
      }
      return found;
    }
    Entries entries;
    node.copy_entries(node.meta(), false, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      found.push_back(Env::key_of(entries.heads[i], entries.values[i]));
    }
    return found;
  }
  /// The key at which a node's range begins: its name while it is in the tree.
  static OwnedKey bound(const NodeT& node) { return OwnedKey{Traits::fence_key(node.low())}; }

 private:
  static NodeT* referred(std::uint64_t word) {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }
  static std::vector<std::uint64_t> values(const NodeT& node) {
    Entries entries;
    node.copy_entries(node.meta(), false, entries);
    return {entries.values.begin(), entries.values.begin() + entries.count};
  }
};

}  // namespace mxkv::index::testing

// Leaves that become hot or cold whichever workers write to them, and however often.
#pragma once

#include "index/adaptation.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::index::testing {

/// Turns some leaf of a tree whose leaves adapt. Between two steps, or in a poll.
template <class Traits>
void turn_some_leaf(index::Tree<Traits>& tree, runtime::Random& random, runtime::Worker& worker) {
  using NodeT = typename index::Tree<Traits>::NodeT;
  auto* node = static_cast<NodeT*>(tree.root().object());
  while (tree.options().leaves_adapt && node->meta().level() > 0) {
    const index::NodeMeta meta = node->meta();
    const auto block = static_cast<std::uint8_t>(random.below(meta.blocks()));
    if (meta.count(block) == 0) {
      return;
    }
    const auto slot = static_cast<std::uint8_t>(random.below(meta.count(block)));
    auto* const child =
        static_cast<NodeT*>(runtime::TaggedPointer{node->value(false, {block, slot})}.object());
    if (meta.level() == 1) {
      random.below(2) == 0 ? index::Adaptation<Traits>::heat(tree, *child, *node, worker)
                           : index::Adaptation<Traits>::cool(*child, *node, worker);
      return;
    }
    node = child;
  }
}

/// Makes all leaves of a tree hot whose leaves adapt, but not one that is the root. Between two steps.
template <class Traits>
void heat_all_leaves(index::Tree<Traits>& tree, runtime::Worker& worker) {
  using NodeT = typename index::Tree<Traits>::NodeT;
  const auto child = [](const NodeT& node, unsigned block, unsigned slot) {
    const std::uint64_t word =
        node.value(false, {static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)});
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  };
  auto* node = static_cast<NodeT*>(tree.root().object());
  while (node->meta().level() > 1) {
    unsigned block = 0;
    while (node->meta().count(block) == 0) {
      ++block;
    }
    node = child(*node, block, 0);
  }
  while (node->meta().level() == 1) {
    const index::NodeMeta meta = node->meta();
    for (unsigned block = 0; block < meta.blocks(); ++block) {
      for (unsigned slot = 0; slot < meta.count(block); ++slot) {
        index::Adaptation<Traits>::heat(tree, *child(*node, block, slot), *node, worker);
      }
    }
    if (meta.high_infinite()) {
      return;
    }
    node = static_cast<NodeT*>(runtime::TaggedPointer{node->right()}.object());
  }
}

}  // namespace mxkv::index::testing

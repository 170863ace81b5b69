// A leaf that becomes hot or cold by chance, whichever worker writes to it.
#pragma once

#include "index/adaptation.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::simulation {

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

}  // namespace mxkv::simulation

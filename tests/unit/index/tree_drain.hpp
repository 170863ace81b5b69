// Frees all that a tree reaches, so that what the heaps still count as live afterwards has leaked.
#pragma once

#include "index/checker.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "tests/unit/index/tree_env.hpp"

namespace mxkv::index::testing {

/// Bytes of live blocks in all heaps of a stopped runtime.
struct LiveBytes {
  std::size_t nodes = 0;
  std::size_t items = 0;
};

inline LiveBytes live_bytes(runtime::Runtime& runtime) {
  const auto each = [&runtime](const auto& what) {
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      what(runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}));
    }
  };
  each([](runtime::Worker& worker) {
    worker.nodes().flush_foreign();
    worker.items().flush_foreign();
  });
  LiveBytes sum;
  each([&sum](runtime::Worker& worker) {
    worker.nodes().collect();
    worker.items().collect();
    sum.nodes += worker.nodes().stats().live_bytes;
    sum.items += worker.items().stats().live_bytes;
  });
  return sum;
}

/// Frees the nodes, fences, separators and entries of a tree that nobody uses any more.
template <class Env>
class TreeDrain {
  using Traits = typename Env::Traits;
  using NodeT = Node<typename Traits::Shape>;

 public:
  TreeDrain(Tree<Traits>& tree, const Env& env, runtime::Worker& worker) : env_(env), worker_(worker) {
    auto* leftmost = static_cast<NodeT*>(tree.root().object());
    while (leftmost != nullptr) {
      const unsigned level = leftmost->meta().level();
      NodeT* const below = level == 0 ? nullptr : node_of(leftmost->value(false, Position{0, 0}));
      for (NodeT* node = leftmost; node != nullptr;) {
        NodeT* const right = node_of(node->right());
        free_node(*node, level == 0);
        node = right;
      }
      leftmost = below;
    }
  }

 private:
  static NodeT* node_of(std::uint64_t word) {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }

  void free_node(NodeT& node, bool leaf) {
    Entries entries;
    node.copy_entries(node.meta(), !leaf && !Traits::kExact, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      if (leaf) {
        env_.dispose(worker_, entries.values[i]);
      } else {
        Traits::free_fence(worker_, entries.separators[i]);
      }
    }
    Traits::free_fence(worker_, node.low());
    if (!node.meta().high_infinite()) {
      Traits::free_fence(worker_, node.high());
    }
    worker_.nodes().release(&node);
  }

  const Env& env_;
  runtime::Worker& worker_;
};

}  // namespace mxkv::index::testing

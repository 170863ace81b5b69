// Takes a tree apart whose root was replaced, node by node, in tasks of low priority.
//
// It starts when the root's epoch has passed: no reader, writer or separator task can be in that tree. It
// goes level by level from the leaves up, by the right links.
#pragma once

#include <array>

#include "index/tree.hpp"

namespace mxkv::index {

template <class Traits>
class TeardownTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "teardown";
  using NodeT = Node<typename Traits::Shape>;

  TeardownTask(const runtime::TaskClass* task_class, NodeT* root) noexcept
      : MxTask(task_class), levels_(root->meta().level() + 1) {
    for (unsigned level = levels_; level > 0; --level) {
      leftmost_[level - 1] = root;
      if (level > 1) {
        root = node_of(root->value(false, Position{0, 0}));
      }
    }
    annotate(runtime::priority::low);
    visit(leftmost_[0]);
  }

  runtime::step execute(runtime::Worker& worker) {
    NodeT* next = node_of(node_->right());
    free_node(worker, *node_);
    if (next == nullptr) {
      if (++level_ == levels_) {
        return runtime::step::done;
      }
      next = leftmost_[level_];
    }
    visit(next);
    return runtime::step::again;
  }

  /// Frees the rest at once: at shutdown.
  void discard(runtime::Worker& worker) {
    while (execute(worker) == runtime::step::again) {
    }
  }

 private:
  static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }

  void visit(NodeT* node) noexcept {
    node_ = node;
    annotate_lines(runtime::TaggedPointer::unsynchronized(node), 0, NodeT::kLines);
  }

  static void free_node(runtime::Worker& worker, NodeT& node) {
    const NodeMeta meta = node.meta();
    Entries entries;
    node.copy_entries(meta, !Traits::kExact && meta.level() > 0, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      if (meta.level() == 0) {
        Traits::release_record(worker, entries.values[i]);
      } else {
        Traits::free_fence(worker, entries.separators[i]);
      }
    }
    Traits::free_fence(worker, node.low());
    Traits::free_fence(worker, node.high());
    worker.nodes().release(&node);
  }

  NodeT* node_ = nullptr;
  unsigned levels_;
  unsigned level_ = 0;
  std::array<NodeT*, Tree<Traits>::kMaxLevels> leftmost_{};
};

template <class Traits>
void detail::tear_down(runtime::Worker& worker, void* root) {
  worker.spawn(worker.create<TeardownTask<Traits>>(static_cast<Node<typename Traits::Shape>*>(root)));
}

}  // namespace mxkv::index

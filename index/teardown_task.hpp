// Takes a tree apart whose root was replaced, node by node, in deferred tasks of one request [LAS 4]: workers
// run them when they have time, and work that clients wait for goes first.
//
// It starts when the root's epoch has passed: no reader, writer or separator task can be in that tree. One
// task frees the inner nodes, level by level from above the leaves up, by the right links. For each node just
// above the leaves it spawns a task that frees the leaves from that node's first child up to the next node's
// first child.
#pragma once

#include <array>

#include "index/tree.hpp"

namespace mxkv::index {

namespace detail {

template <class NodeT>
NodeT* node_of(std::uint64_t word) noexcept {
  return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
}

template <class NodeT>
NodeT* first_child(const NodeT& node) noexcept {
  return node_of<NodeT>(node.value(false, Position{0, 0}));
}

/// Frees a node, and with a leaf its records and its low fence.
template <class Traits>
void free_node(runtime::Worker& worker, Node<typename Traits::Shape>& node) {
  if (node.leaf()) {
    Entries entries;
    node.copy_entries(node.meta(), false, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      Traits::release_record(worker, entries.values[i]);
    }
    Traits::free_fence(worker, node.low());
  }
  worker.nodes().release(&node);
}

/// Frees a leaf; returns the next.
template <class Traits>
Node<typename Traits::Shape>* free_leaf(runtime::Worker& worker, Node<typename Traits::Shape>& leaf) {
  MXKV_ASSERT(leaf.leaf(), "leaves are torn down from leaf to leaf");
  auto* next = node_of<Node<typename Traits::Shape>>(leaf.right());
  free_node<Traits>(worker, leaf);
  return next;
}

}  // namespace detail

/// Frees leaves from one up to, not including, another; null: to the last.
template <class Traits>
class LeavesTeardownTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "leaves teardown";
  using NodeT = Node<typename Traits::Shape>;

  LeavesTeardownTask(const runtime::TaskClass* task_class, NodeT* first, const NodeT* end) noexcept
      : MxTask(task_class), end_(end) {
    visit(first);
  }

  runtime::step execute(runtime::Worker& worker) {
    visit(detail::free_leaf<Traits>(worker, *leaf_));
    if (leaf_ != end_) {
      return runtime::step::again;
    }
    Traits::teardown_ends(worker);
    return runtime::step::done;
  }

  /// Frees the rest at once: at shutdown.
  void discard(runtime::Worker& worker) {
    while (leaf_ != end_) {
      leaf_ = detail::free_leaf<Traits>(worker, *leaf_);
    }
    Traits::teardown_ends(worker);
  }

 private:
  void visit(NodeT* leaf) noexcept {
    leaf_ = leaf;
    annotate_lines(runtime::TaggedPointer::unsynchronized(leaf), 0, NodeT::kLines);
  }

  NodeT* leaf_ = nullptr;
  const NodeT* end_;
};

template <class Traits>
class TeardownTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "teardown";
  using NodeT = Node<typename Traits::Shape>;

  TeardownTask(const runtime::TaskClass* task_class, NodeT* root) noexcept
      : MxTask(task_class), levels_(root->meta().level() + 1) {
    for (unsigned level = levels_; level > 0; --level) {
      leftmost_[level - 1] = root;
      root = level > 1 ? detail::first_child(*root) : nullptr;
    }
    leaves_ = leftmost_[0];
    visit(leftmost_[level_]);
  }

  runtime::step execute(runtime::Worker& worker) {
    if (level_ == levels_) {  // a tree of one leaf has no inner node
      spawn_leaves(worker, nullptr);
      return ended(worker);
    }
    MXKV_ASSERT(node_->meta().level() == level_, "a tree is torn down level by level");
    if (level_ == 1 && node_ != leftmost_[1]) {
      spawn_leaves(worker, detail::first_child(*node_));
    }
    auto* next = detail::node_of<NodeT>(node_->right());
    detail::free_node<Traits>(worker, *node_);
    if (next == nullptr) {
      if (level_ == 1) {
        spawn_leaves(worker, nullptr);
      }
      if (++level_ == levels_) {
        return ended(worker);
      }
      next = leftmost_[level_];
    }
    visit(next);
    return runtime::step::again;
  }

  /// Frees the rest at once: at shutdown.
  void discard(runtime::Worker& worker) {
    at_once_ = true;
    while (execute(worker) == runtime::step::again) {
    }
  }

 private:
  runtime::step ended(runtime::Worker& worker) noexcept {
    Traits::teardown_ends(worker);
    return runtime::step::done;
  }
  void visit(NodeT* node) noexcept {
    node_ = node;
    annotate_lines(runtime::TaggedPointer::unsynchronized(node), 0, node != nullptr ? NodeT::kLines : 0);
  }

  /// Spawns a task for the leaves from leaves_ on that lie before `end`.
  void spawn_leaves(runtime::Worker& worker, NodeT* end) {
    if (at_once_) {
      while (leaves_ != end) {
        leaves_ = detail::free_leaf<Traits>(worker, *leaves_);
      }
      return;
    }
    Traits::teardown_begins(worker);
    auto* task = worker.create<LeavesTeardownTask<Traits>>(std::exchange(leaves_, end), end);
    task->annotate(runtime::deferred{request()});
    worker.spawn(task);
  }

  NodeT* node_ = nullptr;
  NodeT* leaves_;  ///< the first leaf that is in no task yet
  bool at_once_ = false;
  unsigned levels_;
  unsigned level_ = 1;
  std::array<NodeT*, Tree<Traits>::kMaxLevels + 1> leftmost_{};  ///< by level; null above the root
};

template <class Traits>
void detail::tear_down(runtime::Worker& worker, void* root) {
  auto* task = worker.create<TeardownTask<Traits>>(static_cast<Node<typename Traits::Shape>*>(root));
  task->annotate(runtime::deferred{worker.runtime().new_request()});
  worker.spawn(task);
}

}  // namespace mxkv::index

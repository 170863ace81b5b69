// Empties the tree: swaps the root for an empty leaf (flush_all).
//
// Runs in the tree's pool, like the growth of the root. Operations that are in the old tree end there: they
// were sent before the swap and count as done before it. The old tree is taken apart when its last reader has
// left.
//
// The new leaf is latched until the clear has passed the commit point. The clear's order lies above the
// orders of all changes of the old tree that passed. A change that is under way there either sees the new
// root (Tree::passes) and does not pass, or has minted its order before the clear mints its own: the fence
// here, and the one there, see to that.
//
// Derived (CRTP) gives
//   std::uint64_t mint_order(Worker&)     above all minted so far, as far as can be seen
//   step cleared(bool done, Worker&)      done = false: out of memory, nothing changed
#pragma once

#include "index/tree.hpp"
#include "runtime/base/heavy_fence.hpp"
#include "runtime/synchronization/optimistic.hpp"

namespace mxkv::index {

template <class Derived, class Traits>
class ClearTask : public runtime::MxTask {
 public:
  using NodeT = Node<typename Traits::Shape>;

  ClearTask(const runtime::TaskClass* task_class, Tree<Traits>& tree) noexcept
      : MxTask(task_class), tree_(&tree) {}

  void start(runtime::Worker& worker) {
    worker.pin(*this);
    annotate(tree_->tagged(), sizeof(Tree<Traits>));
    annotate(runtime::access::write);
    worker.spawn(this);
  }

  runtime::step execute(runtime::Worker& worker) {
    auto* old_root = static_cast<NodeT*>(tree_->root().object());
    NodeT* root = tree_->take_empty_root(worker, old_root->life().generation() + 1);
    if (root != nullptr) {
      MXKV_ASSERT(root->leaf() && root->meta().total() == 0, "a cleared tree is an empty leaf");
      MXKV_ASSERT(root->life().generation() == old_root->life().generation() + 1, "each clear counts one");
      replace_root(*root, worker);
      tree_->retire_subtree(worker, old_root);
    }
    return static_cast<Derived*>(this)->cleared(root != nullptr, worker);
  }

 protected:
  [[nodiscard]] Tree<Traits>& tree() const noexcept { return *tree_; }

 private:
  void replace_root(NodeT& root, runtime::Worker& worker) noexcept {
    const runtime::WriteLatch latch = runtime::WriteLatch::acquire(root, 1);
    MXKV_ASSERT(static_cast<bool>(latch), "nobody knows of a root before it is published");
    tree_->publish_root(&root);
    runtime::heavy_fence();  // pairs with the light one in Tree::passes()
    const std::uint64_t order = static_cast<Derived*>(this)->mint_order(worker);
    root.raise_order_floor(order);
    tree_->commits().pass({.change = Change::of(change::flushed, order, cause::deleted)}, worker);
  }

  Tree<Traits>* tree_;
};

}  // namespace mxkv::index

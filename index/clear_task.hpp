// Empties the tree: swaps the root for an empty leaf (flush_all).
//
// Runs in the tree's pool, like the growth of the root. Operations that are in the old tree end there: they
// were sent before the swap and count as done before it. The old tree is taken apart when its last reader has
// left. The new leaf's cas floor lies above all uniques minted so far.
//
// Derived (CRTP) gives step cleared(bool done, Worker&), done = false: out of memory, nothing changed.
#pragma once

#include "index/tree.hpp"

namespace mxkv::index {

template <class Derived, class Traits>
class ClearTask : public runtime::MxTask {
 public:
  using NodeT = Node<typename Traits::Shape>;

  ClearTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t cas_floor) noexcept
      : MxTask(task_class), tree_(&tree), cas_floor_(cas_floor) {}

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
      root->raise_cas_floor(cas_floor_);
      tree_->publish_root(root);
      tree_->commits().pass({.change = {change::flushed, cause::deleted, cas_floor_}}, worker);
      tree_->retire_subtree(worker, old_root);
    }
    return static_cast<Derived*>(this)->cleared(root != nullptr, worker);
  }

 protected:
  /// Before start().
  void set_cas_floor(std::uint64_t cas_floor) noexcept { cas_floor_ = cas_floor; }

 private:
  Tree<Traits>* tree_;
  std::uint64_t cas_floor_;
};

}  // namespace mxkv::index

// After a split: the separator of the new node goes into the level above; the root grows when there is none.
//
// A SeparatorTask finds its level from the root by number (no stored parent), moves right, inserts
// {separator, new node} and clears the new node's `separator_pending` under the parent's latch. It may split
// the parent in turn. Until it has run, searches reach the new node by the right link. It shares the pin of
// the task that split; the new node cannot go away while its separator is pending.
//
// A node that lost its entries before its parent knew it could not be unlinked then; so the task that posts
// its separator looks at it once more.
//
// GrowRootTask replaces a root that has no parent. It runs in the tree's pool, so two never run at once, and
// looks again whether the root still is the node's level: if not, the separator goes the ordinary way.
#pragma once

#include "index/insert_plan.hpp"
#include "index/traverse.hpp"

namespace mxkv::index {

template <class Traits>
void spawn_separator(Tree<Traits>& tree, InsertPlan<Traits>& split, unsigned parent_level,
                     const runtime::MxTask& splitter, runtime::Worker& worker);

/// Starts to unlink `node` if it is thin; see unlink_task.hpp. `holder` found it under its pin.
template <class Traits>
void unlink_if_thin(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                    runtime::Worker& worker);
/// The same for the right neighbour of `node`.
template <class Traits>
void unlink_right_of(Tree<Traits>& tree, const Node<typename Traits::Shape>& node,
                     const runtime::MxTask& holder, runtime::Worker& worker);

/// Goes on with `node`, whose task waits for its left neighbour's, or starts one if the node is thin.
template <class Traits>
void resume_unlink(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                   runtime::Worker& worker);

template <class Traits>
class GrowRootTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "grow root";
  using NodeT = Node<typename Traits::Shape>;

  GrowRootTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t separator,
               NodeT& right, unsigned parent_level) noexcept
      : MxTask(task_class), tree_(&tree), separator_(separator), right_(&right), parent_level_(parent_level) {
    annotate(tree.tagged(), sizeof(Tree<Traits>));
    annotate(runtime::access::write);
  }

  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& /*worker*/) {}

 private:
  Tree<Traits>* tree_;
  std::uint64_t separator_;
  NodeT* right_;
  unsigned parent_level_;
};

template <class Traits>
struct SeparatorScratch : LookupScratch {
  InsertPlan<Traits> plan;
};

template <class Traits>
class SeparatorTask final : public TraverseTask<SeparatorTask<Traits>, Traits, SeparatorScratch<Traits>> {
  using Base = TraverseTask<SeparatorTask<Traits>, Traits, SeparatorScratch<Traits>>;

 public:
  static constexpr const char* kName = "separator";
  static constexpr bool kWrites = true;
  static constexpr bool kTargetsLeaf = false;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  SeparatorTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t separator,
                NodeT& right, unsigned level) noexcept
      : Base(task_class, tree), separator_(separator), right_(&right), level_(level) {}

  [[nodiscard]] typename Traits::Key key() const noexcept { return Traits::fence_key(separator_); }
  [[nodiscard]] unsigned target_level() const noexcept { return level_; }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    scratch.found =
        SearchT::find(node, meta, meta.level() == 0, key(), scratch.head, scratch.block, read, true);
    if (scratch.found.what == hit::torn) {
      return TraverseScratch::kind::torn;
    }
    return scratch.found.found()
               ? TraverseScratch::kind::target
               : detail::away(SearchT::inside(node, meta, key(), scratch.head, false, read), node, scratch);
  }

  /// A reader's view of the target: only while the root is below the level that the separator belongs to.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) { return grow_or_retry(worker); }
  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    if (this->here().life().generation() != right_->life().generation()) {
      MXKV_PATH(separator_of_cleared);  // the node goes with the old tree
      otherwise = runtime::step::done;
      return false;
    }
    if (scratch.meta.level() < level_) {
      otherwise = grow_or_retry(worker);
      return false;
    }
    if (scratch.what != TraverseScratch::kind::target) {
      otherwise = this->resume_node(scratch, worker);
      return false;
    }
    if (scratch.meta.frozen()) [[unlikely]] {
      MXKV_PATH(wait_of_separator);
      otherwise = this->wait_for_unlink();
      return false;
    }
    if (scratch.found.found()) {
      MXKV_ASSERT(runtime::TaggedPointer{scratch.found.value}.object() == right_,
                  "a separator has one child");
      right_->life().set_separator_pending(false);
      otherwise = runtime::step::done;
      return false;
    }
    const planned plan =
        scratch.plan.plan(this->tree(), this->here(), this->seen_version(), key(), scratch.found.at, worker);
    if (plan == planned::torn) {
      otherwise = this->conflict(worker);
    } else if (plan == planned::out_of_memory) {
      // The tree stays correct without it: searches take the right link, and a task that does tries again.
      MXKV_PATH(separator_lost);
      right_->life().mark_separator_lost();
      otherwise = runtime::step::done;
    }
    return plan == planned::ready;
  }

  void apply(Scratch& scratch, runtime::Worker& /*worker*/) {
    NodeT& node = this->here();
    if (scratch.plan.splits()) {
      scratch.plan.split(node);
      return;
    }
    MXKV_ASSERT(right_->life().separator_pending(), "a separator that is posted was pending");
    MXKV_ASSERT(!node.meta().frozen(), "a parent that is on its way out takes in nothing");
    scratch.plan.insert(node, Prefix<Traits>::head(node, node.meta(), key()),
                        Tree<Traits>::tag(right_).word(), separator_);
    right_->life().set_separator_pending(false);
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if (!scratch.plan.splits()) {
      posted(this->tree(), *right_, *this, worker);
      return runtime::step::done;
    }
    spawn_separator(this->tree(), scratch.plan, level_ + 1, *this, worker);
    this->enter(this->object());
    return runtime::step::again;
  }

  void abandon(Scratch& scratch, runtime::Worker& worker) { scratch.plan.abandon(worker); }
  void discard(runtime::Worker& /*worker*/) {}

  /// The parent knows `right` now.
  static void posted(Tree<Traits>& tree, NodeT& right, const runtime::MxTask& poster,
                     runtime::Worker& worker) {
    MXKV_PATH(separator_posted);
    unlink_if_thin(tree, right, poster, worker);
    if (!right.leaf()) {
      // A split may have made room for the last child of the next one.
      unlink_right_of(tree, right, poster, worker);
    }
  }

 private:
  runtime::step grow_or_retry(runtime::Worker& worker) {
    auto* grow = worker.create<GrowRootTask<Traits>>(this->tree(), separator_, *right_, level_);
    grow->annotations().pin_slot = std::exchange(this->annotations().pin_slot, runtime::Annotations::kNoPin);
    worker.spawn(grow);
    return runtime::step::done;
  }

  std::uint64_t separator_;
  NodeT* right_;
  unsigned level_;
};

template <class Traits>
runtime::step GrowRootTask<Traits>::execute(runtime::Worker& worker) {
  auto* old_root = static_cast<NodeT*>(tree_->root().object());
  if (old_root->life().generation() != right_->life().generation()) {
    return runtime::step::done;
  }
  if (old_root->meta().level() >= parent_level_) {
    auto* task = worker.create<SeparatorTask<Traits>>(*tree_, separator_, *right_, parent_level_);
    task->annotations().pin_slot = std::exchange(annotations().pin_slot, runtime::Annotations::kNoPin);
    task->start(worker);
    return runtime::step::done;
  }
  NodeT* root = parent_level_ < Tree<Traits>::kMaxLevels
                    ? tree_->allocate_node(worker, parent_level_, old_root->life().generation())
                    : nullptr;
  if (root == nullptr) {
    MXKV_PATH(separator_lost);
    right_->life().mark_separator_lost();
    return runtime::step::done;
  }
  MXKV_ASSERT(old_root->meta().level() + 1U == parent_level_, "a tree grows by one level");
  MXKV_ASSERT(right_->life().separator_pending() && right_->meta().level() + 1U == parent_level_,
              "the root grows for a node that no parent knows");
  Entries entries;
  entries.insert(0, 0, Tree<Traits>::tag(old_root).word(), 0);
  const auto separator = Traits::fence_key(separator_);
  const auto prefix = Prefix<Traits>::of_lone(separator, right_->meta());
  prefix.store(*root);
  entries.insert(1, Traits::head(separator, prefix.bytes), Tree<Traits>::tag(right_).word(), separator_);
  root->layout(entries, 0, 2);
  if (parent_level_ == 1) {
    MXKV_PATH(grow_root);
  } else {
    MXKV_PATH(grow_root_above_inner);
  }
  tree_->publish_root(root);
  right_->life().set_separator_pending(false);
  SeparatorTask<Traits>::posted(*tree_, *right_, *this, worker);
  return runtime::step::done;
}

namespace detail {

/// Spawns the task that makes `right` known to its parent level. It shares the pin of `holder`, which met or
/// made the node: if the tree was cleared meanwhile, a new pin would not keep the old tree's nodes.
template <class Traits>
void post_separator(Tree<Traits>& tree, std::uint64_t separator, Node<typename Traits::Shape>& right,
                    unsigned parent_level, const runtime::MxTask& holder, runtime::Worker& worker) {
  MXKV_ASSERT(right.life().separator_pending(), "a separator is posted for a node that waits for it");
  MXKV_ASSERT(right.meta().level() + 1U == parent_level, "a separator goes one level up");
  auto* task = worker.create<SeparatorTask<Traits>>(tree, separator, right, parent_level);
  task->annotate(runtime::priority::high);  // until it has run, searches take the detour by the right link
  worker.share_pin(holder, *task);
  task->start(worker);
}

}  // namespace detail

/// Posts the separator of a split's new node.
template <class Traits>
void spawn_separator(Tree<Traits>& tree, InsertPlan<Traits>& split, unsigned parent_level,
                     const runtime::MxTask& splitter, runtime::Worker& worker) {
  detail::post_separator(tree, split.separator(), *split.right(), parent_level, splitter, worker);
  if (split.behind() != nullptr) [[unlikely]] {
    MXKV_PATH(split_of_claimed);
    resume_unlink(tree, *split.behind(), splitter, worker);
  }
}

template <class Traits>
void retry_lost_separator(Tree<Traits>& tree, Node<typename Traits::Shape>& right, unsigned parent_level,
                          const runtime::MxTask& passer, runtime::Worker& worker) {
  if (!right.life().claim_lost_separator()) {
    return;
  }
  MXKV_PATH(separator_retried);
  detail::post_separator(tree, right.low(), right, parent_level, passer, worker);
}

}  // namespace mxkv::index

#include "index/unlink_task.hpp"

// Takes a node out of the tree that deletes left thin: an empty leaf, or an inner node with one child.
//
//  look     at the left neighbour: while it has a task, this task ends, and the end of that task starts
//           another. Inner nodes: if the neighbour has no room for the child, leave
//   freeze   from here on no other task changes the node. Not the leftmost one of its level, nor one that the
//            parent does not know yet
//   drop     the parent forgets the node. A parent's first child stays: leave
//   absorb   the left neighbour takes over range, right link and child, and with that the node is dead
//   leave    instead: the node is as before. If its separator was dropped, it is posted again
//
// Each part latches one node, the one that it changes. A task has the node's claim (node_life.hpp), so there
// is one task a node. The nodes of a run that all go are frozen one after the other, from the left: the end
// of each task starts the next one, and no task polls. A task that would change a frozen node looks again
// behind other work. README.md says why that ends, and why readers need not know.
//
// The task shares the pin of the task that found the node. The tree may be cleared meanwhile, and the pin
// keeps the found nodes in memory. A node of an earlier generation is left to the teardown of its tree.
#pragma once

#include "index/absorb.hpp"
#include "index/separator_task.hpp"

namespace mxkv::index {

struct UnlinkScratch : LookupScratch {  // found: the entry in the parent, to drop
  std::uint64_t low;                    ///< of the node that was read
  std::uint64_t right;                  ///< the same
};

template <class Traits>
class UnlinkTask final : public TraverseTask<UnlinkTask<Traits>, Traits, UnlinkScratch> {
  using Base = TraverseTask<UnlinkTask<Traits>, Traits, UnlinkScratch>;

 public:
  static constexpr const char* kName = "unlink";
  static constexpr bool kWrites = true;
  static constexpr bool kTargetsLeaf = false;
  static constexpr bool kMayBeStrict = true;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;
  using typename Base::TreeT;

  UnlinkTask(const runtime::TaskClass* task_class, TreeT& tree, NodeT& node) noexcept
      : Base(task_class, tree), node_(&node), level_(node.meta().level()) {}

  void start(runtime::Worker& worker) {
    this->set_careful(true);
    dropped_ = node_->meta().frozen();  // then it waited for its left neighbour to take over
    part_ = dropped_ ? part::absorb : part::look;
    static_cast<void>(begin(part_));
    worker.spawn(this);
  }

  [[nodiscard]] typename Traits::Key key() const noexcept { return Traits::fence_key(low_); }
  [[nodiscard]] unsigned target_level() const noexcept { return level_ + (part_ == part::drop ? 1 : 0); }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    scratch.low = node.low();
    scratch.right = node.right();
    if (part_ == part::drop && meta.level() == target_level()) {
      scratch.found = SearchT::find(node, meta, false, key(), scratch.head, scratch.block, read, true);
      if (scratch.found.what == hit::torn) {
        return TraverseScratch::kind::torn;
      }
    }
    return TraverseScratch::kind::target;
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }
  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    otherwise = runtime::step::done;
    if (this->here().life().generation() != node_->life().generation()) {
      MXKV_PATH(unlink_of_cleared);
      return false;
    }
    if (scratch.what != TraverseScratch::kind::target) {
      otherwise = has_overflowed(scratch) ? begin(part::leave) : this->resume_node(scratch, worker);
      return false;
    }
    MXKV_ASSERT(scratch.meta.level() == target_level(), "a node that may be unlinked has a parent");
    switch (part_) {
      case part::look:
        otherwise = look(scratch);
        return false;
      case part::freeze:
        return may_freeze(scratch, otherwise);
      case part::drop:
        return may_drop(scratch, otherwise);
      case part::absorb:
        return may_absorb(scratch, otherwise);
      case part::leave:
        return true;
    }
    return false;
  }

  void apply(Scratch& scratch, runtime::Worker& /*worker*/) {
    NodeT& node = this->here();
    switch (part_) {
      case part::look:
        break;
      case part::freeze:
        MXKV_PATH(unlink_freeze);
        node.store_meta(node.meta().with_frozen(true));
        break;
      case part::drop:
        MXKV_PATH(unlink_drop);
        Absorb<Traits>::drop(node, scratch.found.at, this->tree().most_blocks(false));
        break;
      case part::absorb:
        MXKV_PATH(unlink_absorb);
        Absorb<Traits>::take_over(node, *node_, this->tree().most_blocks(node.leaf()));
        break;
      case part::leave:
        MXKV_PATH(unlink_leave);
        if (dropped_) {
          node.life().set_separator_pending(true);  // before another task may freeze it
        }
        node.store_meta(node.meta().with_frozen(false));
        scratch.right = node.right();
        missed_ = node.life().release();  // under the latch, as a split looks at it
        break;
    }
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    switch (part_) {
      case part::look:
        break;
      case part::freeze:
        return begin(part::drop);
      case part::drop:
        return dropped(scratch, worker);
      case part::absorb:
        absorbed(worker);
        break;
      case part::leave:
        left(scratch, worker);
        break;
    }
    return runtime::step::done;
  }

  void abandon(Scratch& /*scratch*/, runtime::Worker& /*worker*/) {}
  void discard(runtime::Worker& /*worker*/) {}

 private:
  enum class part : std::uint8_t { look, freeze, drop, absorb, leave };

  /// Whether one part may follow another. look and absorb may begin anew after a wait that was taken back,
  /// and leave where the node has changed on the way to it.
  [[nodiscard]] static bool follows(part before, part next) noexcept {
    switch (before) {
      case part::look:
        return next == part::look || next == part::freeze || next == part::leave;
      case part::freeze:
        return next == part::drop || next == part::leave;
      case part::drop:
      case part::absorb:
        return next == part::absorb || next == part::leave;
      case part::leave:
        return next == part::leave;
    }
    return false;
  }

  runtime::step begin(part next) noexcept {
    MXKV_ASSERT(follows(part_, next), "the parts of an unlink follow each other");
    MXKV_ASSERT(node_->life().claimed() && !node_->life().dead(), "a node that is unlinked is claimed");
    part_ = next;
    low_ = node_->low_now();
    this->set_strict(next == part::look || next == part::absorb);
    if (next == part::freeze || next == part::leave) {
      this->enter(TreeT::tag(node_));
      this->annotate(runtime::access::write);
    } else {
      this->aim_at_root();
    }
    return runtime::step::again;
  }

  /// Before the node was frozen it took in a share of its left neighbour's entries, and gave some to the
  /// right. It is not thin, and the key by which the task enters it may not be its own any more.
  [[nodiscard]] bool has_overflowed(const Scratch& scratch) const noexcept {
    if (scratch.what == TraverseScratch::kind::right && (part_ == part::freeze || part_ == part::leave)) {
      MXKV_PATH(unlink_of_overflowed);
      return true;
    }
    return false;
  }

  // At the left neighbour. Nothing is changed there, whatever the result.
  runtime::step look(const Scratch& scratch) {
    MXKV_PATH(unlink_look);
    NodeT& left = this->here();
    if (!is_node(scratch.right)) {
      return begin(part::leave);
    }
    if (left.life().claimed()) {
      return wait_for(left, part::look);
    }
    if (level_ > 0 && !has_room(scratch.meta)) {
      MXKV_PATH(unlink_no_room_at_first);
      return begin(part::leave);
    }
    return begin(part::freeze);
  }

  // The left neighbour goes first. Its task finds the mark at its end, unless it ended or the neighbour was
  // split before: then this task takes the claim back and looks again.
  runtime::step wait_for(NodeT& left, part otherwise) {
    node_->life().begin_to_wait();
    const bool found =
        left.life().let_right_wait() && runtime::OptimisticRead{left, this->seen_version()}.valid();
    if (!found && node_->life().take_waiting()) {
      MXKV_PATH(unlink_taken_back);
      return begin(otherwise);
    }
    MXKV_PATH(unlink_handed_on);
    UnlinkCounters::count(this->tree().unlinks().handed_on);
    return runtime::step::done;
  }

  bool may_freeze(const Scratch& scratch, runtime::step& otherwise) {
    MXKV_ASSERT(!scratch.meta.frozen() && !node_->life().dead(), "one task at a time unlinks a node");
    if (scratch.meta.thin() && !node_->life().separator_pending()) {
      return true;
    }
    MXKV_PATH(unlink_not_thin);
    otherwise = begin(part::leave);
    return false;
  }

  bool may_drop(const Scratch& scratch, runtime::step& otherwise) {
    if (scratch.meta.frozen()) {
      MXKV_PATH(wait_of_drop);
      otherwise = this->wait_for_unlink();
      return false;
    }
    if (Traits::order(key(), scratch.low) == 0) {  // the first child: perhaps its parent can go
      MXKV_PATH(unlink_first_child);
      parent_ = &this->here();
      otherwise = begin(part::leave);
      return false;
    }
    MXKV_ASSERT(scratch.found.found() && is_node(scratch.found.value),
                "a parent has an entry for each child");
    return true;
  }

  bool may_absorb(const Scratch& scratch, runtime::step& otherwise) {
    MXKV_ASSERT(is_node(scratch.right), "who is left of a node has a link to it");
    if (scratch.meta.frozen()) {
      // An inner node may have to be posted again, by this task: not handed on.
      if (level_ == 0) {
        MXKV_PATH(unlink_handed_on_frozen);
        otherwise = wait_for(this->here(), part::absorb);
      } else {
        MXKV_PATH(wait_of_absorb);
        otherwise = this->wait_for_unlink();
      }
      return false;
    }
    if (level_ > 0 && !has_room(scratch.meta)) {
      MXKV_PATH(unlink_no_room);
      otherwise = begin(part::leave);
      return false;
    }
    return true;
  }

  runtime::step dropped(const Scratch& scratch, runtime::Worker& worker) {
    MXKV_ASSERT(!dropped_ && node_->meta().frozen(), "the parent drops a frozen node, once");
    dropped_ = true;
    NodeT& parent = this->here();
    unlink_if_thin(this->tree(), parent, *this, worker);
    if (scratch.meta.total() == this->tree().fold_up_to() + 1) {
      unlink_right_of(this->tree(), parent, *this, worker);  // there is room for its child just now
    }
    return begin(part::absorb);
  }

  void absorbed(runtime::Worker& worker) {
    TreeT& tree = this->tree();
    MXKV_ASSERT(dropped_ && node_->meta().frozen(), "a node dies frozen, after its parent dropped it");
    node_->life().mark_dead();
    if (level_ == 0) {
      tree.retire_fence(worker, node_->low());  // nothing that lives refers to it any more
      MXKV_PATH(unlink_leaf);
      UnlinkCounters::count(tree.unlinks().leaves);
    } else {
      // It was a first child, which may not be unlinked; it is no first child any more.
      NodeT* const child = node_of(node_->value(false, Position{}));
      MXKV_ASSERT(child != nullptr && child->meta().level() + 1U == level_, "a child is one level down");
      unlink_if_thin(tree, *child, *this, worker);
      MXKV_PATH(unlink_inner);
      UnlinkCounters::count(tree.unlinks().branches);
    }
    const NodeLife::Missed missed = node_->life().release();
    if (missed.right_waits) {
      resume_unlink(tree, *node_of(node_->right()), *this, worker);  // which nothing changes any more
    }
    tree.retire_node(worker, *node_);
  }

  void left(const Scratch& scratch, runtime::Worker& worker) {
    TreeT& tree = this->tree();
    if (dropped_) {
      MXKV_PATH(unlink_undone);
      UnlinkCounters::count(tree.unlinks().undone);
      detail::post_separator(tree, node_->low(), *node_, level_ + 1, *this, worker);
    } else if (parent_ != nullptr) {
      unlink_if_thin(tree, *parent_, *this, worker);
    }
    if (missed_.again) {
      MXKV_PATH(unlink_again);
      unlink_if_thin(tree, *node_, *this, worker);
    }
    if (missed_.right_waits) {
      resume_unlink(tree, *node_of(scratch.right), *this, worker);
    }
  }

  [[nodiscard]] static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }
  /// Whether the left neighbour of an inner node may take over one more child.
  [[nodiscard]] bool has_room(NodeMeta left) const noexcept {
    return left.total() <= this->tree().fold_up_to();
  }
  [[nodiscard]] bool is_node(std::uint64_t word) const noexcept {
    return runtime::TaggedPointer{word}.object() == node_;
  }

  NodeT* node_;
  NodeT* parent_ = nullptr;  ///< leave: whose first child the node is
  std::uint64_t low_ = 0;    ///< its low fence, when the part began
  unsigned level_;           ///< of the node
  NodeLife::Missed missed_{};
  part part_ = part::look;
  bool dropped_ = false;
};

namespace detail {

/// Starts a task that has the claim of `node`, which `holder` found under its pin.
template <class Traits>
void start_unlink(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                  runtime::Worker& worker) {
  MXKV_ASSERT(node.low() != 0, "the leftmost node of a level stays");
  auto* task = worker.create<UnlinkTask<Traits>>(tree, node);
  task->annotate(runtime::priority::high);  // others wait for nodes that are frozen
  worker.share_pin(holder, *task);
  task->start(worker);
}

}  // namespace detail

/// Starts to unlink `node`, which `holder` found under its pin. The leftmost node of a level stays.
template <class Traits>
void spawn_unlink(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                  runtime::Worker& worker) {
  if (node.low() != 0 && node.life().claim()) {
    detail::start_unlink(tree, node, holder, worker);
  }
}

template <class Traits>
void resume_unlink(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                   runtime::Worker& worker) {
  if (node.life().take_waiting()) {
    MXKV_PATH(unlink_resumed);
    detail::start_unlink(tree, node, holder, worker);
  } else {
    unlink_if_thin(tree, node, holder, worker);
  }
}

// Two tasks may each do half of the work that makes a node ready to go: one empties it, the other makes it known to
// its parent, or another than the first child, or makes room beside it. The later one has to notice. Both
// write the node's version word after their half and look at the other's half then, so one of them sees both.
template <class Traits>
void unlink_if_thin(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                    runtime::Worker& worker) {
  const std::uint64_t version =
      node.version().fetch_add(0, std::memory_order_acq_rel);  // pairs with WriteLatch, either way
  if ((version & 1U) != 0 || node.meta().thin()) {
    spawn_unlink(tree, node, holder, worker);
  }
}

template <class Traits>
void unlink_right_of(Tree<Traits>& tree, const Node<typename Traits::Shape>& node,
                     const runtime::MxTask& holder, runtime::Worker& worker) {
  const runtime::TaggedPointer right{node.right()};
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release fence in WriteLatch
  if (right) {
    unlink_if_thin(tree, *static_cast<Node<typename Traits::Shape>*>(right.object()), holder, worker);
  }
}

}  // namespace mxkv::index

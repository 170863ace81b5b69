// Takes a node out of the tree that deletes left thin: an empty leaf, or an inner node with one child.
//
//   look     inner nodes: has the left neighbour room for the child? If not, that is all
//   freeze   from here on nobody else changes the node. Not the leftmost one of its level, nor one that the
//            parent does not know yet
//   drop     the parent forgets the node. A parent's first child stays: thaw
//   absorb   the left neighbour takes over range, right link and child, and with that the node is dead
//   thaw     instead: the node is as before. If its separator was dropped, it is posted again
//
// Each part latches one node, the one that it changes. Who wants to change a frozen node starts over at the
// root, behind other work. A neighbour or parent that is frozen goes first: upward and to the left, where the
// leftmost node never freezes, so nobody waits in a circle. Why readers need not know: README.md.
//
// The task shares the pin of who found the node: the tree may be cleared meanwhile, and what was found is in
// memory until the pin is left. A node of an earlier generation is left to the teardown of its tree.
#pragma once

#include "index/absorb.hpp"
#include "index/separator_task.hpp"

namespace mxkv::index {

struct UnlinkScratch : TraverseScratch {
  Found found;              ///< drop: the entry in the parent
  std::uint64_t low;        ///< of the node that was read
  std::uint64_t right;      ///< the same
  std::uint64_t taken = 0;  ///< a record that apply() took out of the node
};

template <class Traits>
class UnlinkTask final : public TraverseTask<UnlinkTask<Traits>, Traits, UnlinkScratch> {
  using Base = TraverseTask<UnlinkTask<Traits>, Traits, UnlinkScratch>;

 public:
  static constexpr const char* kName = "unlink";
  static constexpr bool kWrites = true;
  static constexpr bool kMayBeStrict = true;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;
  using typename Base::TreeT;

  UnlinkTask(const runtime::TaskClass* task_class, TreeT& tree, NodeT& node) noexcept
      : Base(task_class, tree), node_(&node), level_(node.meta().level()) {}

  void start(runtime::Worker& worker) {
    this->set_careful(true);
    static_cast<void>(begin(level_ > 0 ? part::look : part::freeze));
    worker.spawn(this);
  }

  [[nodiscard]] typename Traits::Key key() const noexcept { return Traits::fence_key(node_->low()); }
  [[nodiscard]] unsigned target_level() const noexcept { return level_ + (part_ == part::drop ? 1 : 0); }

  void inspect_target(const NodeT& node, NodeMeta meta, std::uint64_t head, unsigned block,
                      const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    scratch.low = node.low();
    scratch.right = node.right();
    if (part_ == part::drop && meta.level() == target_level()) {
      scratch.found = SearchT::find(node, meta, key(), head, block, read, true);
      if (scratch.found.torn) {
        scratch.what = TraverseScratch::kind::torn;
      }
    }
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }
  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    otherwise = runtime::step::done;
    if (this->here().generation() != node_->generation()) {
      this->tree().retire_fence(worker, std::exchange(separator_, 0));
      return false;
    }
    if (scratch.what != TraverseScratch::kind::target) {
      otherwise = this->resume_node(scratch, worker);
      return false;
    }
    MXKV_ASSERT(scratch.meta.level() == target_level(), "a node that may be unlinked has a parent");
    switch (part_) {
      case part::look:
        return look(scratch, otherwise);
      case part::freeze:
        return may_freeze(scratch, otherwise);
      case part::drop:
        return may_drop(scratch, otherwise);
      case part::absorb:
        return may_absorb(scratch, otherwise);
      case part::thaw:
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
        node.store_meta(node.meta().with_frozen(true));
        break;
      case part::drop:
        scratch.taken = Absorb<Traits>::drop(node, scratch.found.at);
        break;
      case part::absorb:
        scratch.taken = Absorb<Traits>::take_over(node, *node_);
        break;
      case part::thaw:
        if (dropped_) {
          node.store_separator_pending(true);  // before anybody else may freeze it
        }
        node.store_meta(node.meta().with_frozen(false));
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
        absorbed(scratch, worker);
        break;
      case part::thaw:
        thawed(worker);
        break;
    }
    return runtime::step::done;
  }

  void abandon(Scratch& /*scratch*/, runtime::Worker& /*worker*/) {}
  void discard(runtime::Worker& worker) { Traits::free_fence(worker, separator_); }

 private:
  enum class part : std::uint8_t { look, freeze, drop, absorb, thaw };

  runtime::step begin(part next) noexcept {
    part_ = next;
    this->set_strict(next == part::look || next == part::absorb);
    if (next == part::freeze || next == part::thaw) {
      this->enter(TreeT::tag(node_));
      this->annotate(runtime::access::write);
    } else {
      this->aim_at_root();
    }
    return runtime::step::again;
  }

  // At the left neighbour. Nothing to change, whatever comes of it.
  bool look(const Scratch& scratch, runtime::step& otherwise) {
    if (scratch.meta.frozen()) {
      otherwise = this->wait_for_unlink();
    } else if (is_node(scratch.right) && Absorb<Traits>::has_room(scratch.meta)) {
      otherwise = begin(part::freeze);
    }
    return false;
  }

  bool may_freeze(const Scratch& scratch, runtime::step& otherwise) {
    const auto* root = static_cast<const NodeT*>(this->tree().root().object());
    if (node_->dead() || root->generation() != node_->generation()) {
      return false;
    }
    if (scratch.meta.frozen()) {  // by another such task, which may yet thaw it
      UnlinkCounters::count(this->tree().unlinks().waits);
      static_cast<void>(begin(part::freeze));
      otherwise = runtime::step::retry;
      return false;
    }
    return scratch.meta.thin() && !node_->separator_pending();
  }

  bool may_drop(const Scratch& scratch, runtime::step& otherwise) {
    if (scratch.meta.frozen()) {
      otherwise = this->wait_for_unlink();
      return false;
    }
    if (Traits::order(key(), scratch.low) == 0) {  // the first child: perhaps its parent can go
      parent_ = &this->here();
      otherwise = begin(part::thaw);
      return false;
    }
    MXKV_ASSERT(scratch.found.found && is_node(scratch.found.value), "a parent has an entry for each child");
    return true;
  }

  bool may_absorb(const Scratch& scratch, runtime::step& otherwise) {
    if (scratch.meta.frozen()) {
      otherwise = this->wait_for_unlink();
      return false;
    }
    MXKV_ASSERT(is_node(scratch.right), "who is left of a node has a link to it");
    if (level_ > 0 && !Absorb<Traits>::has_room(scratch.meta)) {
      otherwise = begin(part::thaw);
      return false;
    }
    return true;
  }

  runtime::step dropped(const Scratch& scratch, runtime::Worker& worker) {
    separator_ = Traits::kExact ? node_->low() : scratch.taken;
    dropped_ = true;
    NodeT& parent = this->here();
    unlink_if_thin(this->tree(), parent, *this, worker);
    if (scratch.meta.total() == Traits::Shape::kFoldUpTo + 1) {
      unlink_right_of(this->tree(), parent, *this, worker);  // there is room for its child just now
    }
    return begin(part::absorb);
  }

  void absorbed(const Scratch& scratch, runtime::Worker& worker) {
    TreeT& tree = this->tree();
    node_->mark_dead();
    tree.retire_fence(worker, scratch.taken);
    tree.retire_fence(worker, std::exchange(separator_, 0));
    if (level_ == 0) {
      tree.retire_fence(worker, node_->low());
      UnlinkCounters::count(tree.unlinks().leaves);
    } else {
      // It was a first child, which may not be unlinked, and is not any more.
      auto* child = static_cast<NodeT*>(runtime::TaggedPointer{node_->value(false, Position{})}.object());
      unlink_if_thin(tree, *child, *this, worker);
      UnlinkCounters::count(tree.unlinks().branches);
    }
    tree.retire_node(worker, *node_);
  }

  void thawed(runtime::Worker& worker) {
    if (dropped_) {
      UnlinkCounters::count(this->tree().unlinks().undone);
      detail::post_separator(this->tree(), std::exchange(separator_, 0), *node_, level_ + 1, *this, worker);
    } else if (parent_ != nullptr) {
      unlink_if_thin(this->tree(), *parent_, *this, worker);
    }
  }

  [[nodiscard]] bool is_node(std::uint64_t word) const noexcept {
    return runtime::TaggedPointer{word}.object() == node_;
  }

  NodeT* node_;
  NodeT* parent_ = nullptr;      ///< thaw: whose first child the node is
  std::uint64_t separator_ = 0;  ///< that the parent had for the node
  unsigned level_;               ///< of the node
  part part_ = part::freeze;
  bool dropped_ = false;
};

/// Starts to unlink `node`, which `holder` found under its pin. The leftmost node of a level stays.
template <class Traits>
void spawn_unlink(Tree<Traits>& tree, Node<typename Traits::Shape>& node, const runtime::MxTask& holder,
                  runtime::Worker& worker) {
  if (node.low() == 0) {
    return;
  }
  auto* task = worker.create<UnlinkTask<Traits>>(tree, node);
  task->annotate(runtime::priority::high);  // others wait for nodes that are frozen
  worker.share_pin(holder, *task);
  task->start(worker);
}

// Two tasks may each do half of what makes a node ready to go: one empties it, the other makes it known to
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

// The common part of all tree tasks: their place in the tree, one look at a node, and guarded execution [Mx fig. 6].
//
// A task starts at the root, moves right past high fences, descends, and arrives at the node of its target
// level that holds its key. Each node is one data object; how many hops it costs depends on how deep it is:
//   Tree::near_level() and above  stays in the near caches: searched at once, no hop (step::now)
//   below                         staged: a hop for the header line, then one for the block it names
// A block hop goes on from the version that the header hop validated; where a writer came in between, both
// lines are read in one hop.
//
// locate() is one look at a node: guarded execution inspects with it, and resume_node() goes on from the
// result; each node is one call. The fast path (traverse.hpp) takes plain cases only.
//
// Derived (CRTP) gives
//   Key key() const
//   TraverseScratch::kind inspect_target(const NodeT&, const OptimisticRead&, Scratch&) const
//                                      inside the read; scratch has the node's meta, the key's head and its
//                                      block. kind::target: resume_target() follows
//   step resume_target(Scratch&, Worker&)
//   step resume_item(Worker&)          at stage::item, without a node
// and may shadow the constants below, and give
//   bool may_leave(Worker&)            a writer: whether it may go to the pool of a node; false: it is parked, and has
//                                      left the tree
//   void came_from(TaggedPointer)      the node whose child the task enters; none at the root
#pragma once

#include <algorithm>
#include <cstdio>

#include "index/node_look.hpp"
#include "index/search.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

/// Tries again to post the separator of `right`, a node met by the right link, if its task ran out of memory.
template <class Traits>
void retry_lost_separator(Tree<Traits>& tree, Node<typename Traits::Shape>& right, unsigned parent_level,
                          const runtime::MxTask& passer, runtime::Worker& worker);

template <class Derived, class TraitsT, class ScratchT = TraverseScratch>
class TreeTask : public runtime::MxTask {
 public:
  using Traits = TraitsT;
  using Scratch = ScratchT;
  using NodeT = Node<typename Traits::Shape>;
  using SearchT = Search<Traits>;
  using TreeT = Tree<Traits>;
  using Key = typename Traits::Key;

  /// Level at which Derived takes over.
  [[nodiscard]] unsigned target_level() const noexcept { return 0; }
  /// Whether that is the leaves' level, always.
  static constexpr bool kTargetsLeaf = true;
  /// Whether Derived looks for one entry there (leaf_entry_task.hpp).
  static constexpr bool kEndsAtEntry = false;
  /// Whether Derived writes there.
  static constexpr bool kWrites = false;
  /// Whether Derived reads the whole target node in one hop.
  static constexpr bool kWholeTarget = false;
  /// Whether Derived ever looks for the greatest key below key().
  static constexpr bool kMayBeStrict = false;

  /// For guarded execution: whether readers of this task's objects never take a latch, and no object is serialized.
  static constexpr bool kObjectsAreOptimistic = Traits::kLatchedNodes;

  [[nodiscard]] TreeT& tree() const noexcept { return *tree_; }

  /// Pins, points the task at the root and spawns it.
  void start(runtime::Worker& worker) {
    worker.pin(*this);
    aim_at_root();
    worker.spawn(this);
  }

  /// The first stage of a task that begins at this root.
  [[nodiscard]] static std::uint8_t first_stage(runtime::TaggedPointer root) noexcept {
    return root.marks() != 0 && reads_optimistically(root.synchronization()) ? kRoot : 0;
  }

  // --- For guarded execution ---

  [[nodiscard]] bool staged() const noexcept { return at_stage(stage::block) || at_commit(); }

  [[gnu::always_inline]] void inspect(const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    if (!at_commit()) {
      scratch.what = locate(here(), read, scratch);
    }
  }

  runtime::step resume(Scratch& scratch, runtime::Worker& worker) {
    if (object().synchronization() == runtime::primitive::none) {
      return self().resume_item(worker);
    }
    return resume_node(scratch, worker);
  }

  /// For a task that was put back: describes the node that it waits at.
  std::size_t describe(char* out, std::size_t size) const noexcept {
    if (object().synchronization() == runtime::primitive::none) {
      return 0;
    }
    const NodeMeta meta = here().meta();
    const NodeLife& life = here().life();
    const int written = std::snprintf(out, size, "node of level %u, %u entries%s%s%s%s%s", meta.level(),
                                      meta.total(), meta.frozen() ? ", frozen" : "",
                                      life.dead() ? ", dead" : "", life.claimed() ? ", claimed" : "",
                                      life.separator_pending() ? ", separator pending" : "",
                                      runtime::OptimisticRead{here()}.locked() ? ", latched" : "");
    return std::min(static_cast<std::size_t>(std::max(written, 0)), size - 1);
  }

  /// A writer came in between: once more from the header.
  runtime::step conflict(runtime::Worker& worker) {
    runtime::count(worker.counters().conflicts);
    look_again();
    return runtime::step::again;
  }

  // --- For Derived ---

 protected:
  TreeTask(const runtime::TaskClass* task_class, TreeT& tree) noexcept : MxTask(task_class), tree_(&tree) {}

  /// Whether nodes of this primitive may be read while others write.
  [[nodiscard]] static constexpr bool reads_optimistically(runtime::primitive how) noexcept {
    return Traits::kLatchedNodes || how == runtime::primitive::optimistic_latch ||
           how == runtime::primitive::optimistic_scheduling;
  }
  /// Whether tasks at nodes of this primitive run in the node's pool, be they readers or writers.
  [[nodiscard]] static constexpr bool is_serialized(runtime::primitive how) noexcept {
    return !Traits::kLatchedNodes && how == runtime::primitive::serialized_by_scheduling;
  }
  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
  [[nodiscard]] NodeT& here() const noexcept { return *static_cast<NodeT*>(object().object()); }
  [[nodiscard]] bool at_stage(stage wanted) const noexcept {
    return (annotations().stage & kStages) == static_cast<std::uint8_t>(wanted);
  }
  /// Whether only the latch is missing, which a class that does not write never waits for.
  [[nodiscard]] bool at_commit() const noexcept { return Derived::kWrites && at_stage(stage::commit); }
  static constexpr std::uint8_t kStages = 3;
  // Bits beside a stage, for the fast path: that nodes are read optimistically here, and where the task is.
  static constexpr std::uint8_t kRoot = 4;   ///< an inner node, at which it begins
  static constexpr std::uint8_t kNear = 8;   ///< an inner node of one hop
  static constexpr std::uint8_t kFar = 16;   ///< an inner node of two hops
  static constexpr std::uint8_t kLeaf = 32;  ///< its target
  void set_stage(stage next) noexcept { annotations().stage = static_cast<std::uint8_t>(next); }

  /// Looks for the greatest key below key() instead of key() itself.
  [[nodiscard]] bool strict() const noexcept {
    return Derived::kMayBeStrict && (annotations().mark & kStrict) != 0;
  }
  void set_strict(bool on) noexcept { set_mark(kStrict, on); }
  [[nodiscard]] bool careful() const noexcept {
    return !Traits::kExact && (annotations().mark & kCareful) != 0;
  }
  void set_careful(bool on) noexcept { set_mark(kCareful, on); }
  /// Others wrote to the node while the task was between two hops. Its lines are near now, so it goes through
  /// in one hop: with a hop a line, tasks at one node would overtake each other again and again.
  [[nodiscard]] bool overtaken() const noexcept { return (annotations().mark & kOvertaken) != 0; }
  /// How a task goes on at lines that it asked for just now.
  [[nodiscard]] runtime::step when_loaded() const noexcept {
    return overtaken() ? runtime::step::now : runtime::step::again;
  }
  /// A mark of Derived's own. With kWholeTarget: the node was entered by the right link, wherever the key is.
  [[nodiscard]] bool own_mark() const noexcept { return (annotations().mark & kOwn) != 0; }
  void set_own_mark(bool on) noexcept { set_mark(kOwn, on); }

  /// Goes on from the result of locate().
  runtime::step resume_node(Scratch& scratch, runtime::Worker& worker) {
    switch (scratch.what) {
      case TraverseScratch::kind::right:
        retry_lost_separator(*tree_, *static_cast<NodeT*>(runtime::TaggedPointer{scratch.next}.object()),
                             scratch.meta.level() + 1, *this, worker);
        enter(runtime::TaggedPointer{scratch.next});
        return entered(hop(scratch.meta.level()), worker);
      case TraverseScratch::kind::child:
        leaves_for_child(object());
        enter(runtime::TaggedPointer{scratch.next});
        return entered(hop(scratch.meta.level() - 1), worker);
      case TraverseScratch::kind::block: {
        const bool leaf = scratch.meta.level() == 0;
        annotate_lines(object(), NodeT::first_line_of(scratch.block, leaf), 2);
        set_stage(stage::block);
        return runtime::step::again;
      }
      case TraverseScratch::kind::torn:
        return conflict(worker);
      case TraverseScratch::kind::outside:
        return restart(true);
      case TraverseScratch::kind::target:
        break;
    }
    return self().resume_target(scratch, worker);
  }

  /// Points the task at the root. Its lines are near, so that the task's own are asked for when it is spawned.
  void aim_at_root() noexcept {
    leaves_for_child({});
    MXKV_DCHECK(!Derived::kTargetsLeaf || self().target_level() == 0, "who ends above the leaves says so");
    const runtime::TaggedPointer root = tree_->root();
    enter(root);
    annotations().line_count = 0;
    annotate(runtime::access::readonly);
    // The root may be the target itself, or lie below it while the tree grows.
    if (root.marks() == 0 || (!Derived::kTargetsLeaf && here().meta().level() <= self().target_level())) {
      if constexpr (Derived::kWrites) {
        annotate(runtime::access::write);
      }
    } else {
      annotations().stage = first_stage(root);
    }
  }

  /// Starts over at the root; `carefully`: with whole keys compared on the way.
  runtime::step restart(bool carefully) noexcept {
    set_careful(carefully);
    aim_at_root();
    return runtime::step::again;
  }

  /// Tells Derived, if it offers came_from(), from which node the task goes down.
  [[gnu::always_inline]] void leaves_for_child([[maybe_unused]] runtime::TaggedPointer node) noexcept {
    if constexpr (requires { self().came_from(node); }) {
      self().came_from(node);
    }
  }

  /// The node is on its way out. Looks at it again behind other work, so that its unlink gets on. Starts over
  /// at the root once the node is dead, or the tree was cleared.
  runtime::step wait_for_unlink() noexcept {
    const NodeLife& life = here().life();
    const auto* const root = static_cast<const NodeT*>(tree_->root().object());
    if (life.dead() || life.generation() != root->life().generation()) {
      aim_at_root();
      return runtime::step::again;
    }
    UnlinkCounters::count(tree_->unlinks().waits);
    enter(object());
    return runtime::step::retry;
  }

  /// Points the task at the header of a node.
  void enter(runtime::TaggedPointer node) noexcept {
    MXKV_DCHECK(static_cast<bool>(node), "a task enters a node");
    set_mark(kOvertaken, false);
    set_stage(stage::header);
    annotate_lines(node, 0, 1);
  }
  /// Points the task at the header of the node that it is at, whose lines are near.
  void look_again() noexcept {
    enter(object());
    set_mark(kOvertaken, true);
  }

  static constexpr std::uint8_t kCareful = 1;
  static constexpr std::uint8_t kStrict = 2;
  static constexpr std::uint8_t kOwn = 4;
  static constexpr std::uint8_t kOvertaken = 8;
  void set_mark(std::uint8_t bit, bool on) noexcept {
    auto& mark = annotations().mark;
    mark = static_cast<std::uint8_t>(on ? mark | bit : mark & ~bit);
  }
  [[nodiscard]] bool is_staged(unsigned level) const noexcept { return level < tree_->near_level(); }

  /// One look at a node: finds the node or block that leads to the key, or at the target what Derived looks
  /// for.
  [[gnu::always_inline]] TraverseScratch::kind locate(const NodeT& node, const runtime::OptimisticRead& read,
                                                      Scratch& scratch) const noexcept {
    using kind = TraverseScratch::kind;
    const Key key = self().key();
    const bool from_header = at_stage(stage::header);
    const NodeMeta meta = node.meta();
    const std::uint64_t head = Prefix<Traits>::head(node, meta, key);
    unsigned block = 0;
    scratch.meta = meta;
    scratch.head = head;
    if (!from_header) {
      block = block_of_annotation(meta.level() == 0);
    } else if (!(Derived::kWholeTarget && own_mark())) {
      const route where = SearchT::block_of(node, meta, key, head, strict(), careful(), read, block);
      if (where != route::here) [[unlikely]] {
        return detail::away(where, node, scratch);
      }
    }
    scratch.block = block;
    const unsigned level = meta.level();
    const bool at_target = level <= self().target_level();
    if (from_header && !(at_target && Derived::kWholeTarget) && is_staged(level) && !overtaken()) {
      return kind::block;
    }
    if (!at_target) {
      const route where = SearchT::child(node, meta, key, head, block, strict(), read, scratch.next);
      return where == route::here ? kind::child : kind::torn;
    }
    return self().inspect_target(node, read, scratch);
  }

  /// How a task gets to the node that it just entered.
  runtime::step hop(unsigned level) noexcept {
    bool write = false;
    if constexpr (Derived::kWrites) {
      // The child of a branch node is where a writer writes: annotated so before anyone touches it.
      write = level <= self().target_level();
      annotate(write ? runtime::access::write : runtime::access::readonly);
    }
    if (Derived::kWholeTarget && level <= self().target_level()) {
      annotate_lines(object(), 0, NodeT::kLines);
      return runtime::step::again;
    }
    if (is_staged(level)) {
      return runtime::step::again;
    }
    const runtime::primitive how = object().synchronization();
    const bool bound = is_serialized(how) || (write && how == runtime::primitive::optimistic_scheduling);
    return bound ? runtime::step::again : runtime::step::now;
  }

  /// The step of a task that entered a node. A writer whose node is in a pool is about to leave this worker.
  runtime::step entered(runtime::step next, [[maybe_unused]] runtime::Worker& worker) {
    if constexpr (requires { self().may_leave(worker); }) {
      if (object().synchronization() == runtime::primitive::optimistic_scheduling &&
          annotations().access == runtime::access::write && !self().may_leave(worker)) [[unlikely]] {
        return runtime::step::parked;
      }
    }
    return next;
  }

  [[nodiscard]] unsigned block_of_annotation(bool leaf) const noexcept {
    return (annotations().first_line - NodeT::kHeaderLines) / Traits::Shape::lines_per_block(leaf);
  }

  TreeT* tree_;
};

}  // namespace mxkv::index

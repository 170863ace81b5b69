// Traversal: a tree task with its fast path.
//
// run_fast() searches nodes that no task writes, in plain cases (plain_search.hpp); in all other cases
// guarded execution goes on from the task's place. A turn takes a task up to lines that it has to wait for,
// and its stage tells the next turn where it is:
//   kRoot        the root and all near nodes below it, in one turn: so a search begins at once
//   kNear        an inner node that fits the second-level cache: one hop
//   kFar         an inner node of two hops, one for the header line, one for the block that it names
//   kLeaf        the same at the leaf, for tasks that look for one entry there (leaf_entry_task.hpp)
// A header hop validates nothing: the same node's block hop uses its result, at the same version.
//
// Derived (CRTP) gives the functions that TreeTask asks for, and, if it looks for one entry,
//   went at_leaf_header<W>(Worker&, step& next), at_leaf_block<W>(Worker&, step& next)
// and, to write, went fast_commit(Worker&, step& next), which ends what resume_item() began.
#pragma once

#include "index/plain_search.hpp"
#include "index/tree_task.hpp"

namespace mxkv::index {

template <class Derived, class TraitsT, class ScratchT = TraverseScratch>
class TraverseTask : public TreeTask<Derived, TraitsT, ScratchT> {
  using Base = TreeTask<Derived, TraitsT, ScratchT>;

 public:
  using Traits = TraitsT;
  using typename Base::Key;
  using typename Base::NodeT;
  using typename Base::TreeT;

  /// How a loop runs its tasks: by which instructions it compares lines, and whether a task asks for its next
  /// lines itself. If not, its prefetch buffer does, or none does.
  template <class CompareT, bool kAsksT>
  struct Way {
    using Compare = CompareT;
    static constexpr bool kAsks = kAsksT;
  };
  /// Whether there are so many tasks of Derived at once that a loop compiled for each way pays. Each such class costs
  /// seconds of compile time, so maintenance and operations on many keys say no.
  static constexpr bool kOwnLoops = false;
  template <bool kAsks = true, class F>
    requires Derived::kOwnLoops
  [[gnu::always_inline]] static auto in_best_way(const F& f) {
    return line_compare::in_best_way([&](auto compare) { return f(Way<decltype(compare), kAsks>{}); });
  }

  /// False: plain cases do not cover this, and guarded execution goes on.
  [[nodiscard, gnu::noinline]] bool run_fast(runtime::Worker& worker, runtime::step& next) {
    const runtime::went how = run_fast<Way<line_compare::AsFound, false>>(worker, next);
    if (how == runtime::went::on) {
      next = runtime::step::again;
    }
    return how != runtime::went::astray;
  }
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went run_fast(runtime::Worker& worker, runtime::step& next) {
    const runtime::went how = turn<W>(worker, next);
    if (how == runtime::went::told && next == runtime::step::again && begins()) {
      // The next search begins where all is near.
      MXKV_PATH(fast_at_once);
      return from_root<W>(worker, next);
    }
    return how;
  }

 protected:
  using Base::Base;
  using went = runtime::went;
  template <class W>
  using PlainT = PlainSearch<Traits, typename W::Compare>;

  [[nodiscard]] static constexpr std::uint32_t way_at(stage at, std::uint8_t where = 0) noexcept {
    return runtime::Annotations::free_at(static_cast<std::uint8_t>(static_cast<std::uint8_t>(at) | where));
  }

  /// Moves the task to lines that are not near.
  template <class W>
  [[nodiscard, gnu::always_inline]] went await(runtime::TaggedPointer at, stage to, std::uint8_t where,
                                               unsigned first, unsigned count) noexcept {
    this->move_to(at, first, count, static_cast<std::uint8_t>(static_cast<std::uint8_t>(to) | where));
    if constexpr (W::kAsks) {
      const std::byte* const line = at.first_line() + std::size_t{first} * runtime::kCacheLineBytes;
      runtime::prefetch_read(line);
      if (count == 2) {
        runtime::prefetch_read(line + runtime::kCacheLineBytes);
      }
    }
    return went::on;
  }

  /// Guarded execution goes on at the block; at the header where the fast path could not tell the block, since no
  /// limit is above the greatest head.
  template <class W>
  [[nodiscard, gnu::always_inline]] went astray_at_block(Rank limit) noexcept {
    if (limit == PlainT<W>::kLeast && this->annotations().stage > Base::kStages) {
      this->enter(this->object());
    }
    return went::astray;
  }

 private:
  /// Whether the task is at the root, has read nothing yet, and has no special marks.
  [[nodiscard]] bool begins() const noexcept { return this->free_at() == way_at(stage::header, Base::kRoot); }

  template <class W>
  [[nodiscard, gnu::always_inline]] went turn(runtime::Worker& worker, runtime::step& next) {
    const std::uint32_t at = this->free_at();
    if constexpr (Derived::kEndsAtEntry) {
      if (at == way_at(stage::block, Base::kLeaf)) {
        return this->self().template at_leaf_block<W>(worker, next);
      }
    }
    if constexpr (!Traits::kExact) {
      if (at == way_at(stage::item)) {
        next = this->self().resume_item(worker);
        return next != runtime::step::now ? went::told : commit_if_writer(worker, next);
      }
    }
    if constexpr (Derived::kEndsAtEntry) {
      if (at == way_at(stage::header, Base::kLeaf)) {
        return this->self().template at_leaf_header<W>(worker, next);
      }
    }
    if (at == way_at(stage::header, Base::kNear)) {
      MXKV_PATH(fast_one_hop);
      return from_inner<W>(next);
    }
    if (at == way_at(stage::header, Base::kRoot)) {
      return from_root<W>(worker, next);
    }
    if (at == way_at(stage::header, Base::kFar)) {
      return at_far_header<W>();
    }
    if (at == way_at(stage::block, Base::kFar)) {
      return at_far_block<W>(next);
    }
    return rarer_turn<W>(at, worker, next);
  }

  /// From the root through near nodes.
  template <class W>
  [[nodiscard, gnu::always_inline]] went from_root(runtime::Worker& worker, runtime::step& next) {
    const unsigned near = TreeT::mark_of_level(this->tree_->near_level());
    runtime::TaggedPointer at = this->object();
    std::uint64_t word = 0;
    while (child<W>(at, word)) {
      const runtime::TaggedPointer below{word};
      if (below.marks() == 0 && near == 0) [[unlikely]] {
        return from_small_root<W>(at, below, worker, next);
      }
      if (below.marks() < near || ends_above(at, below)) {
        return enter_child<W>(at, below, below.marks() + 1 == near ? Base::kNear : Base::kFar, next);
      }
      MXKV_PATH(fast_near_node);
      at = below;
    }
    MXKV_PATH(fast_left);
    this->enter(at);
    return went::astray;
  }

  /// At an inner node that is one hop.
  template <class W>
  [[nodiscard, gnu::always_inline]] went from_inner(runtime::step& next) {
    const runtime::TaggedPointer at = this->object();
    std::uint64_t word = 0;
    return child<W>(at, word) ? enter_child<W>(at, runtime::TaggedPointer{word}, Base::kFar, next)
                              : went::astray;
  }

  /// At an inner node that is two hops.
  template <class W>
  [[nodiscard, gnu::always_inline]] went at_far_header() {
    const runtime::TaggedPointer at = this->object();
    const NodeT& node = *static_cast<const NodeT*>(at.object());
    const runtime::OptimisticRead read{node};
    Rank limit = 0;
    unsigned first = 0;
    if (read.locked() || !PlainT<W>::limit_of(node, this->self().key(), limit) ||
        !PlainT<W>::template block<false>(node, limit, first)) [[unlikely]] {
      return went::astray;
    }
    MXKV_PATH(fast_header);
    this->see_version(read.version());
    return await<W>(at, stage::block, Base::kFar, first, 2);
  }
  template <class W>
  [[nodiscard, gnu::always_inline]] went at_far_block(runtime::step& next) {
    const runtime::TaggedPointer at = this->object();
    const NodeT& node = *static_cast<const NodeT*>(at.object());
    const runtime::OptimisticRead read{node, this->seen_version()};
    Rank limit = 0;
    std::uint64_t word = 0;
    if (!PlainT<W>::limit_of(node, this->self().key(), limit) ||
        !PlainT<W>::child_in(node.line_at(this->annotations().first_line), limit, word) || !read.valid())
        [[unlikely]] {
      return astray_at_block<W>(limit);
    }
    MXKV_PATH(fast_block);
    return enter_child<W>(at, runtime::TaggedPointer{word}, Base::kFar, next);
  }

  /// The child of an inner node that leads to the key; it may be followed.
  template <class W>
  [[nodiscard, gnu::always_inline]] bool child(runtime::TaggedPointer at,
                                               std::uint64_t& word) const noexcept {
    const NodeT& node = *static_cast<const NodeT*>(at.object());
    const runtime::OptimisticRead read{node};
    return !read.locked() && PlainT<W>::child(node, this->self().key(), word) && read.valid();
  }

  /// Whether the task's target is the child, though it is no leaf.
  [[nodiscard, gnu::always_inline]] bool ends_above(runtime::TaggedPointer at,
                                                    runtime::TaggedPointer below) const noexcept {
    if constexpr (Derived::kTargetsLeaf) {
      return false;
    } else {
      return below.marks() != 0 &&
             static_cast<const NodeT*>(at.object())->meta().level() - 1 <= this->self().target_level();
    }
  }

  /// Enters a child of the node at `at` that is not near; `inner` is the stage bit of an inner child.
  template <class W>
  [[nodiscard, gnu::always_inline]] went enter_child(runtime::TaggedPointer at, runtime::TaggedPointer below,
                                                     std::uint8_t inner, runtime::step& next) noexcept {
    this->leaves_for_child(at);
    if constexpr (Derived::kEndsAtEntry) {
      // A writer has to run in the pool of a leaf that is written by scheduling.
      constexpr std::uint64_t kHow = Derived::kWrites ? 7 : 6;
      if ((below.word() & (kHow | 7U << 3U)) ==
          static_cast<std::uint64_t>(runtime::primitive::optimistic_latch)) [[likely]] {
        if constexpr (Derived::kWrites) {
          this->annotate(runtime::access::write);
        }
        return await<W>(below, stage::header, Base::kLeaf, 0, 1);
      }
    }
    if (below.marks() == 0 || ends_above(at, below)) [[unlikely]] {
      return enter_target(at, below, next);
    }
    return await<W>(below, stage::header, inner, 0, 1);
  }
  [[nodiscard, gnu::noinline]] went enter_target(runtime::TaggedPointer at, runtime::TaggedPointer below,
                                                 runtime::step& next) noexcept {
    const unsigned level = static_cast<const NodeT*>(at.object())->meta().level() - 1;
    if constexpr (requires(runtime::Worker& worker) { this->self().may_leave(worker); }) {
      if (below.synchronization() == runtime::primitive::optimistic_scheduling) {
        // Guarded execution asks it first, from the node above once more.
        this->enter(at);
        this->set_mark(Base::kOvertaken, true);
        return went::astray;
      }
    }
    this->enter(below);
    next = this->hop(level);
    return next == runtime::step::now ? went::astray : went::told;
  }

  /// From a root right above the leaves: they are near, too.
  template <class W>
  [[nodiscard, gnu::noinline]] went from_small_root(runtime::TaggedPointer at, runtime::TaggedPointer leaf,
                                                    runtime::Worker& worker, runtime::step& next) {
    using AtOnce = Way<typename W::Compare, false>;
    const went how = enter_child<AtOnce>(at, leaf, 0, next);
    if constexpr (Derived::kEndsAtEntry) {
      if (this->free_at() == way_at(stage::header, Base::kLeaf)) {
        return this->self().template at_leaf_header<AtOnce>(worker, next) == went::astray
                   ? went::astray
                   : this->self().template at_leaf_block<W>(worker, next);
      }
    }
    return how;
  }

  /// A turn where guarded execution has brought the task, or at a leaf's latch.
  template <class W>
  [[nodiscard, gnu::noinline]] went rarer_turn(std::uint32_t at, runtime::Worker& worker,
                                               runtime::step& next) {
    if (!Base::reads_optimistically(this->object().synchronization())) [[unlikely]] {
      return went::astray;
    }
    if (at == way_at(stage::commit)) {
      return commit_if_writer(worker, next);
    }
    if (at != way_at(stage::header) && at != way_at(stage::block)) {
      return went::astray;
    }
    const unsigned level = this->here().meta().level();
    const bool from_header = at == way_at(stage::header);
    if (level > this->self().target_level()) {
      return from_header ? from_inner<W>(next) : at_far_block<W>(next);
    }
    if constexpr (Derived::kEndsAtEntry) {
      return from_header ? this->self().template at_leaf_header<W>(worker, next)
                         : this->self().template at_unknown_leaf_block<W>(worker, next);
    }
    return went::astray;
  }

  [[nodiscard, gnu::always_inline]] went commit_if_writer(runtime::Worker& worker, runtime::step& next) {
    if constexpr (requires { this->self().fast_commit(worker, next); }) {
      return this->self().fast_commit(worker, next);
    }
    return went::astray;
  }
};

}  // namespace mxkv::index

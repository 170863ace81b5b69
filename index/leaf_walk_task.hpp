// A walk over all leaves in key order, which reads their header lines.
//
// Where leaves may be read optimistically, the walk goes over the nodes above them: it prefetches the header
// lines of all children at once, so that a leaf costs a part of a memory access. It reaches a leaf that has
// no separator yet by the right link of its neighbour. Elsewhere, and in a tree of one level, it goes from
// leaf to leaf. Now and then the walk gives up its pin and descends again by key, so that it does not hold
// back reclamation. It may meet or miss entries that are inserted and leaves that are split off while it is
// under way. A half that splits off has the header values of its leaf.
//
// Derived (CRTP) gives
//   Key key() const                   where to begin, or to go on
//   void set_key(Key)                 keeps a copy as the new key()
//   bool wants(const NodeT& leaf) const       by its header lines, inside an optimistic read
//   void met(Key low, Worker&)        a leaf that is wanted; `low` is the least key it may hold
//   void missed()                     may be given: the walk leaves out a leaf, because others write to it all
//     the time, or because very many leaves in a row have no separator yet
// or, instead of these two,
//   void met_siblings(NodeT& parent, const Entries& leaves, Worker&)    the leaves below one node, as its values
//   bool may_go_on(Worker&)           asked with a new key() when the pin is given up; false: enough for now
//   step finished(bool exhausted, Worker&)
#pragma once

#include "index/traverse.hpp"

namespace mxkv::index {

struct LeafWalkScratch : TraverseScratch {
  bool wanted;
  std::uint64_t right;
  std::uint64_t low;
  std::uint64_t high;
  Entries children;  ///< of the node above leaves
};

template <class Derived, class Traits>
class LeafWalkTask : public TraverseTask<Derived, Traits, LeafWalkScratch> {
  using Base = TraverseTask<Derived, Traits, LeafWalkScratch>;

 public:
  static constexpr bool kTargetsLeaf = false;
  static constexpr bool kWholeTarget = true;
  static constexpr unsigned kNodesPerPin = 16;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  [[nodiscard]] unsigned target_level() const noexcept { return above_ ? 1 : 0; }

  void start(runtime::Worker& worker) {
    choose_level();
    Base::start(worker);
  }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    if (meta.level() == 0) {
      if constexpr (!kMeetsSiblings) {
        scratch.wanted = this->self().wants(node);
      }
    } else {
      node.copy_entries(meta, false, scratch.children);
    }
    scratch.right = node.right();
    scratch.low = node.low();
    scratch.high = node.high();
    if (!this->own_mark() && !Traits::kExact) {
      return detail::away(SearchT::inside(node, meta, this->self().key(), scratch.head, false, read), node,
                          scratch);
    }
    return TraverseScratch::kind::target;
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    MXKV_ASSERT(scratch.meta.level() <= 1, "a walk over leaves stays right above them");
    if constexpr (kMeetsSiblings) {
      if (scratch.meta.level() > 0) {
        this->self().met_siblings(this->here(), scratch.children, worker);
      }
    } else if (scratch.meta.level() > 0) {
      look_at_children(scratch, worker);
    } else if (scratch.wanted) {
      meet(scratch.low, worker);
    }
    if (scratch.meta.high_infinite()) {
      return this->self().finished(true, worker);
    }
    MXKV_ASSERT(scratch.right != 0 && scratch.high != 0,
                "a node that is not the last one has a right neighbour");
    if (++nodes_ % kNodesPerPin == 0) {
      if constexpr (!kMeetsSiblings) {
        look_at_last_run(scratch.high, worker);
      }
      this->self().set_key(Traits::fence_key(scratch.high));
      if (!this->self().may_go_on(worker)) {
        return this->self().finished(false, worker);
      }
      this->set_own_mark(false);
      choose_level();
      worker.repin(*this);
      return this->restart(false);
    }
    this->set_own_mark(true);
    this->enter(runtime::TaggedPointer{scratch.right});
    this->annotate_lines(this->object(), 0, above_ ? NodeT::kLines : NodeT::kHeaderLines);
    return runtime::step::again;
  }

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 protected:
  using Base::Base;

 private:
  static constexpr bool kMeetsSiblings =
      requires(Derived& walk, NodeT& parent, const Entries& leaves, runtime::Worker& worker) {
        walk.met_siblings(parent, leaves, worker);
      };
  /// Most leaves in a row without a separator that a walk looks at; it meets the others the next time.
  static constexpr unsigned kMostBetween = 64;
  /// Most tries to read a leaf that is being written.
  static constexpr unsigned kMostLooks = 1000;

  /// At the root, anew with each descent: the root may have grown, or the tree was cleared.
  void choose_level() noexcept {
    const bool optimistic = Base::reads_optimistically(this->tree().primitive_of(0));
    above_ = optimistic && static_cast<const NodeT*>(this->tree().root().object())->meta().level() > 0;
    next_leaf_ = 0;
  }

  void meet(std::uint64_t low, runtime::Worker& worker) {
    this->self().met(low == 0 ? typename Base::Key{} : Traits::fence_key(low), worker);
  }

  void look_at_children(const Scratch& scratch, runtime::Worker& worker) {
    const Entries& children = scratch.children;
    for (unsigned i = 0; i < children.count; ++i) {
      runtime::prefetch_lines(runtime::TaggedPointer{children.values[i]}.first_line(), 2);
    }
    for (unsigned i = 0; i < children.count; ++i) {
      look_at_run(next_leaf_, children.values[i], worker);
      next_leaf_ = look_at(children.values[i], worker);
    }
    if (scratch.meta.high_infinite()) {
      look_at_run(next_leaf_, 0, worker);
    }
  }

  /// The leaves from `at` on that come before `end`.
  void look_at_run(std::uint64_t at, std::uint64_t end, runtime::Worker& worker) {
    unsigned n = 0;
    for (; at != 0 && at != end && n < kMostBetween; ++n) {
      at = look_at(at, worker);
    }
    if (n == kMostBetween && at != 0 && at != end) {
      miss();
    }
  }
  /// The leaves below the node, which ends at `high`, that have no separator yet: a new descent does not come past
  /// them.
  void look_at_last_run(std::uint64_t high, runtime::Worker& worker) {
    for (unsigned n = 0; next_leaf_ != 0; ++n) {
      const std::uint64_t low =
          static_cast<const NodeT*>(runtime::TaggedPointer{next_leaf_}.object())->low_now();
      if (low != 0 && Traits::fence_key(low) >= Traits::fence_key(high)) {
        return;
      }
      if (n == kMostBetween) {
        miss();
        return;
      }
      next_leaf_ = look_at(next_leaf_, worker);
    }
  }
  void miss() {
    if constexpr (requires { this->self().missed(); }) {
      this->self().missed();
    }
  }

  /// Returns the next leaf, 0 if there is none or it could not be read.
  std::uint64_t look_at(std::uint64_t at, runtime::Worker& worker) {
    const NodeT& leaf = *static_cast<const NodeT*>(runtime::TaggedPointer{at}.object());
    for (unsigned n = 0; n < kMostLooks; ++n) {
      const runtime::OptimisticRead read{leaf};
      const bool wanted = this->self().wants(leaf);
      const std::uint64_t low = leaf.low();
      const std::uint64_t right = leaf.right();
      const bool last = leaf.meta().high_infinite();
      if (!read.locked() && read.valid()) {
        if (wanted) {
          meet(low, worker);
        }
        return last ? 0 : right;
      }
    }
    miss();
    return 0;
  }

  std::uint64_t next_leaf_ = 0;  ///< right of the last one that was looked at; 0: not known
  std::uint32_t nodes_ = 0;
  bool above_ = false;  ///< goes over the nodes above leaves
};

}  // namespace mxkv::index

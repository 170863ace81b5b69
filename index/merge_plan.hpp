// How a leaf that removals thinned merges with its right neighbours, so that leaves stay filled where entries come
// and go. Its entries go to the neighbour, or the neighbour and the next leaf share them.
//
//   parent    a   c   e         a   b   e              a   b   d
//   leaves   [a,c)[c,e)        [a,b)[b,e)      or     [a,b)[b,d)[d,e)
//
// b divides the leaf's low fence from its first entry. So the leaf keeps a range in which it has no entry, and goes
// as any empty leaf does (unlink_task.hpp). Everything else is as in an overflow (overflow_plan.hpp): entries go to
// the right only, parent and leaves are latched at once by single tries, and under the latches there are only stores.
//
// A parent's first child does not merge, since an empty one could not be unlinked. Neither does a leaf whose first
// entry is at its low fence: so it is where keys leave no gaps.
#pragma once

#include "index/overflow_plan.hpp"

namespace mxkv::index {

/// How many entries neighbouring leaves may have together to merge, of leaves for `most` entries. A little of
/// each stays free: the next inserts would divide full leaves again.
struct MergeLimits {
  unsigned into_one;
  unsigned into_two;

  [[nodiscard]] static constexpr MergeLimits of(unsigned most) noexcept {
    const unsigned filled = most - std::max(1U, most / 24);  // 46 of 48 (bench/NOTES.md)
    return {filled, 2 * filled};
  }
};

template <class Traits>
class MergePlan : private OverflowPlan<Traits> {
  using Base = OverflowPlan<Traits>;

 public:
  using typename Base::NodeT;
  using typename Base::TreeT;

  /// Plans for a leaf that was read at `version`.
  overflow plan(TreeT& tree, NodeT& leaf, std::uint64_t version, NodeT& parent,
                runtime::Worker& worker) noexcept {
    const NodeMeta meta = leaf.meta();
    if (meta.high_infinite() || meta.frozen() || meta.total() == 0 || !Base::possible(tree, &parent)) {
      return overflow::impossible;
    }
    const runtime::OptimisticRead read{leaf, version};
    const runtime::OptimisticRead above{parent};
    parent_ = &parent;
    parent_version_ = above.version();
    right_ = Base::node_of(leaf.right());
    if (!read.valid()) {
      return overflow::torn;
    }
    if (above.locked() || !this->find_neighbours(leaf) || NodeT::rank_of(above_meta_, at_) < 2 ||
        !above.valid()) {
      MXKV_PATH(merge_not_below_one);
      return overflow::impossible;
    }
    const runtime::OptimisticRead beside{*right_};
    right_version_ = beside.version();
    const NodeMeta its = right_->meta();
    const bool infinite = its.high_infinite();
    fences_ = {leaf.low(), 0, infinite ? 0 : right_->high(), 0};
    replaced_ = {right_->low(), 0};
    next_ = infinite ? nullptr : Base::node_of(right_->right());
    this->copy(leaf, meta);
    this->copy(*right_, its);
    if (beside.locked() || its.frozen() || its.total() == 0) {
      return overflow::impossible;
    }
    if (!read.valid() || !beside.valid()) {
      return overflow::torn;
    }
    if (!choose(tree, meta.total() + its.total())) {
      MXKV_PATH(merge_too_full);
      return overflow::impossible;
    }
    if (starts_at_fence()) {
      MXKV_PATH(merge_at_fence);
      return overflow::impossible;
    }
    if (!this->make_bounds(worker)) {
      MXKV_PATH(merge_no_memory);
      abandon(worker);
      return overflow::impossible;
    }
    find_heads_above();
    choose_prefixes();
    return overflow::ready;
  }

  /// Under the leaf's latch. Does nothing where another task writes to one of the other nodes, or has written.
  void apply(NodeT& leaf) noexcept {
    runtime::WriteLatch above = runtime::WriteLatch::upgrade(*parent_, parent_version_);
    runtime::WriteLatch beside =
        above ? runtime::WriteLatch::upgrade(*right_, right_version_) : runtime::WriteLatch::none();
    const runtime::WriteLatch beyond = beside && next_ != nullptr
                                           ? runtime::WriteLatch::upgrade(*next_, next_version_)
                                           : runtime::WriteLatch::none();
    if (!beside || (next_ != nullptr && !beyond)) {
      MXKV_PATH(merge_lost);
      beside.release_unchanged();
      above.release_unchanged();
      return;
    }
    MXKV_ASSERT(!leaf.meta().frozen() && !right_->meta().frozen() && !parent_->meta().frozen() &&
                    (next_ == nullptr || !next_->meta().frozen()),
                "what is on its way out takes part in nothing");
    const bool infinite = (next_ != nullptr ? next_ : right_)->meta().high_infinite();
    take_notes(*right_, leaf);
    leaf.store_due(Due{});
    parent_->store_bound(at_, above_[1], fences_[1]);
    if (next_ != nullptr) {
      MXKV_PATH(merge_into_two);
      take_notes(*next_, *right_);
      parent_->store_bound(next_at_, above_[2], fences_[2]);
      next_->store_low(fences_[2]);
      this->lay_out(*next_, 2, infinite);
    } else {
      MXKV_PATH(merge_into_one);
    }
    right_->store_low(fences_[1]);
    this->lay_out(*right_, 1, infinite && next_ == nullptr);
    this->lay_out(leaf, 0, false);
    done_ = true;
  }

  /// After the latch. True: the leaf is empty.
  [[nodiscard]] bool finish(TreeT& tree, runtime::Worker& worker) noexcept {
    if (!done_) {
      abandon(worker);
      return false;
    }
    for (const std::uint64_t fence : replaced_) {
      tree.retire_fence(worker, fence);
    }
    return true;
  }

  /// Frees a plan that was not applied.
  using Base::abandon;

 private:
  using Base::above_;
  using Base::above_meta_;
  using Base::at_;
  using Base::cuts_;
  using Base::done_;
  using Base::entries_;
  using Base::fences_;
  using Base::leaves_;
  using Base::parent_;
  using Base::parent_version_;
  using Base::prefixes_;
  using Base::right_;
  using Base::right_version_;
  using PrefixT = typename Base::PrefixT;

  /// Chooses into how many leaves the entries go, and where they are divided; `both`: of the leaf and its neighbour.
  [[nodiscard]] bool choose(const TreeT& tree, unsigned both) noexcept {
    const MergeLimits limits = MergeLimits::of(tree.most_entries(true));
    this->most_blocks_ = tree.most_blocks(true);
    if (both <= limits.into_one) {
      next_ = nullptr;
      leaves_ = 2;
      cuts_ = {0, 0, both, 0};
      return true;
    }
    if (next_ == nullptr || !find_next()) {
      return false;
    }
    const runtime::OptimisticRead beyond{*next_};
    next_version_ = beyond.version();
    const NodeMeta meta = next_->meta();
    const unsigned all = both + meta.total();
    if (beyond.locked() || meta.frozen() || meta.total() == 0 || all > limits.into_two) {
      return false;
    }
    this->copy(*next_, meta);
    replaced_[1] = next_->low();
    fences_[2] = 0;
    fences_[3] = meta.high_infinite() ? 0 : next_->high();
    leaves_ = 3;
    cuts_ = {0, 0, (all + 1) / 2, all};
    MXKV_ASSERT(cuts_[2] <= both, "entries go to the right only");
    return beyond.valid();
  }

  /// Finds the place of the next leaf in the parent. False: it is not right behind the neighbour's.
  [[nodiscard]] bool find_next() noexcept {
    next_at_ = {at_.block, static_cast<std::uint8_t>(at_.slot + 1U)};
    if (next_at_.slot >= NodeT::clamp_count(above_meta_, at_.block)) {
      next_at_ = {static_cast<std::uint8_t>(at_.block + 1U), 0};
    }
    return next_at_.block < std::min(above_meta_.blocks(), Traits::Shape::blocks(false)) &&
           NodeT::clamp_count(above_meta_, next_at_.block) > 0 &&
           Base::node_of(parent_->value(false, next_at_)) == next_;
  }

  /// Whether no key divides the leaf's low fence from its first entry.
  [[nodiscard]] bool starts_at_fence() const noexcept {
    if constexpr (Traits::kExact) {
      return head_of_rank(entries_.heads[0]) == fences_[0];
    } else {
      return same_key(Traits::Record::key(entries_.values[0]), Traits::fence_key(fences_[0]));
    }
  }

  /// The new bounds lie between old ones of the parent, so they have its prefix, a loose one too.
  void find_heads_above() noexcept {
    for (unsigned i = 1; i < leaves_; ++i) {
      above_[i] = PrefixT::head(*parent_, above_meta_, Traits::fence_key(fences_[i]));
    }
  }

  /// Merges are rare: all heads come from whole keys.
  void choose_prefixes() noexcept {
    if constexpr (!Traits::kExact) {
      for (unsigned i = 0; i < leaves_; ++i) {
        prefixes_[i] = PrefixT::of(entries_, cuts_[i], cuts_[i + 1], true, fences_[i], fences_[i + 1]);
      }
      this->read_whole_keys();
    }
  }

  /// What the header of a leaf says about its entries goes with them.
  static void take_notes(NodeT& to, const NodeT& from) noexcept {
    to.raise_order_floor(from.order_floor());
    to.store_due(to.due().or_sooner(from.due()));
  }

  NodeT* next_ = nullptr;  ///< right of the neighbour, if it takes a share
  std::uint64_t next_version_ = 0;
  Position next_at_;                             ///< of it in the parent
  std::array<std::uint64_t, 2> replaced_{0, 0};  ///< old bounds between the leaves
};

}  // namespace mxkv::index

// How a node takes in one more entry: in place, in a newly opened block, spread anew over its blocks, or
// after a split. Planned from an optimistic read outside of the latch (a split allocates and fills the new
// node there), applied under the latch without being able to fail.
//
// A split moves the upper half to a new right sibling and does not insert: the task comes back for that.
// The new node is linked with `separator_pending`; who applied the split spawns the separator's task.
#pragma once

#include "index/search.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

/// What became of the attempt to plan.
enum class planned : std::uint8_t { ready, torn, out_of_memory };

template <class Traits>
class InsertPlan {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  enum class how : std::uint8_t { insert, open_block, spread, split };

  [[nodiscard]] how kind() const noexcept { return kind_; }
  [[nodiscard]] bool splits() const noexcept { return kind_ == how::split; }

  /// Plans an insert at `at` of a node that was read at `version`.
  planned plan(TreeT& tree, NodeT& node, std::uint64_t version, Position at,
               runtime::Worker& worker) noexcept {
    const runtime::OptimisticRead read{node, version};
    const NodeMeta meta = node.meta();
    at_ = at;
    if (node.fits(meta, at)) {
      kind_ = how::insert;
      return planned::ready;
    }
    if (node.can_open_block(meta, at)) {
      kind_ = how::open_block;
      return planned::ready;
    }
    const bool leaf = meta.level() == 0;
    if (meta.total() <= Traits::Shape::split_above(leaf)) {
      kind_ = how::spread;
      return planned::ready;
    }
    kind_ = how::split;
    return plan_split(tree, node, meta, read, worker);
  }

  /// Applies an insert of any kind but a split. Under the latch.
  void insert(NodeT& node, std::uint64_t head, std::uint64_t value, std::uint64_t separator) noexcept {
    switch (kind_) {
      case how::insert:
        node.insert(at_, head, value, separator);
        return;
      case how::open_block:
        node.open_block(head, value, separator);
        return;
      case how::spread: {
        Entries entries;
        const NodeMeta meta = node.meta();
        node.copy_entries(meta, with_separators(meta), entries);
        entries.insert(NodeT::rank_of(meta, at_), head, value, separator);
        node.layout(entries, 0, entries.count);
        return;
      }
      case how::split:
        break;
    }
    MXKV_ASSERT(false, "a split is applied by split()");
  }

  /// Applies the split. Under the latch of the left node.
  void split(NodeT& left) noexcept {
    NodeMeta meta = left.meta();
    right_->raise_cas_floor(left.cas_floor());
    right_->store_right(left.right());
    left.store_meta(meta.with_prefix(left_prefix_));
    for (unsigned i = 0; i < middle_; ++i) {
      entries_.heads[i] = left_heads_[i];
    }
    left.layout(entries_, 0, middle_);
    store_prefix(left, left_prefix_, left_high_);
    left.store_high(left_high_, Traits::head(Traits::fence_key(left_high_), left_prefix_));
    left.store_meta(left.meta().with_high_infinite(false));
    left.store_right(TreeT::tag(right_).word());
  }

  [[nodiscard]] NodeT* right() const noexcept { return right_; }
  /// The separator for the parent: a fence word of its own.
  [[nodiscard]] std::uint64_t take_separator() noexcept { return std::exchange(separator_, 0); }

  /// Takes back a planned split that was not applied.
  void abandon(runtime::Worker& worker) noexcept {
    if (kind_ != how::split || right_ == nullptr) {
      return;
    }
    free_split(worker);
  }

 private:
  [[nodiscard]] static bool with_separators(NodeMeta meta) noexcept {
    return !Traits::kExact && meta.level() > 0;
  }

  static void store_prefix(NodeT& node, std::size_t prefix, std::uint64_t fence) noexcept {
    if constexpr (!Traits::kExact) {
      if (prefix > 0) {
        for (unsigned i = 0; i < 3; ++i) {
          node.store_prefix_word(i, head_of(Traits::fence_key(fence), std::size_t{i} * 8));
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t head_at(bool leaf, unsigned i, std::size_t prefix,
                                      std::uint64_t low) const noexcept {
    if constexpr (Traits::kExact) {
      return entries_.heads[i];
    } else {
      if (leaf) {
        return Traits::head(Traits::Record::key(entries_.values[i]), prefix);
      }
      return Traits::head(Traits::fence_key(entries_.separators[i] == 0 ? low : entries_.separators[i]),
                          prefix);
    }
  }

  planned plan_split(TreeT& tree, NodeT& node, NodeMeta meta, const runtime::OptimisticRead& read,
                     runtime::Worker& worker) noexcept {
    const bool leaf = meta.level() == 0;
    node.copy_entries(meta, with_separators(meta), entries_);
    const std::uint64_t high = node.high();
    const std::uint64_t low = node.low();
    if (!read.valid()) {
      return planned::torn;
    }
    MXKV_ASSERT(entries_.count >= 2, "a node that splits has entries for both halves");
    // Appending at the right edge is how sorted loads come: leave the left node full.
    const bool appends = meta.high_infinite() && NodeT::rank_of(meta, at_) == entries_.count;
    middle_ = appends ? entries_.count - 1 : entries_.count / 2;
    if (!make_fences(worker, leaf) ||
        (right_ = tree.allocate_node(worker, meta.level(), node.generation())) == nullptr) {
      free_split(worker);
      return planned::out_of_memory;
    }
    const std::size_t right_prefix = meta.high_infinite() ? 0 : Traits::common_prefix(right_low_, high);
    left_prefix_ = Traits::common_prefix(low, left_high_);
    for (unsigned i = 0; i < middle_; ++i) {
      left_heads_[i] =
          left_prefix_ == meta.prefix_bytes() ? entries_.heads[i] : head_at(leaf, i, left_prefix_, low);
    }
    if (!leaf) {
      entries_.separators[middle_] = 0;  // its record is the right node's low fence now
    }
    if (right_prefix != meta.prefix_bytes() || !leaf) {
      for (unsigned i = middle_; i < entries_.count; ++i) {
        entries_.heads[i] = head_at(leaf, i, right_prefix, right_low_);
      }
    }
    right_->store_meta(right_->meta().with_prefix(right_prefix).with_high_infinite(meta.high_infinite()));
    right_->store_low(right_low_);
    right_->store_high(
        high, meta.high_infinite() ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), right_prefix));
    store_prefix(*right_, right_prefix, right_low_);
    right_->store_separator_pending(true);
    right_->layout(entries_, middle_, entries_.count);
    return planned::ready;
  }

  /// The new fences: of a leaf the shortest key that divides, of an inner node the middle entry's separator,
  /// whose record moves to the right node.
  bool make_fences(runtime::Worker& worker, bool leaf) noexcept {
    owns_right_low_ = leaf || Traits::kExact;
    if constexpr (Traits::kExact) {
      right_low_ = left_high_ = separator_ = entries_.heads[middle_];
      return true;
    } else {
      if (!leaf) {
        right_low_ = entries_.separators[middle_];
      } else if (!Traits::make_fence(worker,
                                     shortest_separator(Traits::Record::key(entries_.values[middle_ - 1]),
                                                        Traits::Record::key(entries_.values[middle_])),
                                     right_low_)) {
        return false;
      }
      const KeyView key = Traits::fence_key(right_low_);
      return Traits::make_fence(worker, key, left_high_) && Traits::make_fence(worker, key, separator_);
    }
  }

  void free_split(runtime::Worker& worker) noexcept {
    if (owns_right_low_) {
      Traits::free_fence(worker, right_low_);
    }
    Traits::free_fence(worker, left_high_);
    Traits::free_fence(worker, separator_);
    if (right_ != nullptr) {
      worker.nodes().release(right_);
    }
    right_low_ = left_high_ = separator_ = 0;
    right_ = nullptr;
  }

  how kind_ = how::insert;
  Position at_;
  bool owns_right_low_ = false;
  NodeT* right_ = nullptr;
  unsigned middle_ = 0;
  std::size_t left_prefix_ = 0;
  std::uint64_t right_low_ = 0;
  std::uint64_t left_high_ = 0;
  std::uint64_t separator_ = 0;
  Entries entries_;
  std::array<std::uint64_t, Entries::kMax> left_heads_;
};

}  // namespace mxkv::index

// How a node takes in one more entry: in place, or beside it where its block is full, in a newly opened block,
// spread anew over its blocks, or after a split. Planned from an optimistic read outside of the latch (a split
// allocates and fills the new node there), applied under the latch without being able to fail.
//
// A split moves the upper half to a new right sibling and does not insert: the task comes back for that. Where
// keys come in order, a leaf is split at the end where they come, so that the one that they leave behind stays
// full. The new node is linked with `separator_pending`; the task that applied the split spawns the separator's
// task.
#pragma once

#include "index/search.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

/// The result of planning.
enum class planned : std::uint8_t { ready, torn, out_of_memory };

template <class Traits>
class InsertPlan {
  /// So large a part of a leaf's keys may have overtaken one of the same run.
  static constexpr unsigned kOvertakes = 8;

 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  using PrefixT = Prefix<Traits>;
  enum class how : std::uint8_t { insert, open_block, spread, split };

  [[nodiscard]] how kind() const noexcept { return kind_; }
  [[nodiscard]] bool splits() const noexcept { return kind_ == how::split; }

  /// Plans an insert of `key` at `at` of a node that was read at `version`.
  planned plan(TreeT& tree, NodeT& node, std::uint64_t version, typename Traits::Key key, Position at,
               runtime::Worker& worker) noexcept {
    const NodeMeta meta = node.meta();
    return choose(tree, node, meta, key, at) == how::split ? plan_split(tree, node, version, meta, worker)
                                                           : planned::ready;
  }

  // The two steps of plan().
  how choose(const TreeT& tree, const NodeT& node, NodeMeta meta, typename Traits::Key key,
             Position at) noexcept {
    at_ = at;
    const bool leaf = meta.level() == 0;
    most_blocks_ = tree.most_blocks(leaf);
    const bool may_grow = meta.total() < tree.most_entries(leaf);
    const bool as_it_is = may_grow && !PrefixT::outgrown(node, meta, key);
    if (as_it_is && node.fits_alone(meta, at)) {
      MXKV_PATH(insert_fits);
      return kind_ = how::insert;
    }
    if (as_it_is && node.can_open_block(meta, at) && meta.blocks() < most_blocks_) {
      MXKV_PATH(insert_block);
      return kind_ = how::open_block;
    }
    if (as_it_is && node.fits(meta, at)) {
      MXKV_PATH(insert_beside);
      return kind_ = how::insert;
    }
    if (may_grow && meta.total() <= Traits::Shape::split_above(leaf)) {
      MXKV_PATH(insert_spread);
      return kind_ = how::spread;
    }
    MXKV_PATH(insert_split);
    kept_ = leaf ? part_of_run(node, meta, PrefixT::head(node, meta, key), at) : 0;
    return kind_ = how::split;
  }
  /// Whether a leaf is to be split though its right neighbour has room: keys come in order.
  [[nodiscard]] bool in_order() const noexcept { return kept_ != 0; }
  planned plan_split(TreeT& tree, NodeT& node, std::uint64_t version, NodeMeta meta,
                     runtime::Worker& worker) noexcept {
    return plan_split(tree, node, meta, runtime::OptimisticRead{node, version}, worker);
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
        MXKV_ASSERT(meta.total() < Traits::Shape::capacity(meta.level() == 0),
                    "a node that spreads has room");
        node.copy_entries(meta, with_separators(meta), entries);
        entries.insert(NodeT::rank_of(meta, at_), head, value, separator);
        if (!Traits::kExact && (meta.high_infinite() || node.low() == 0)) {
          lay_prefix_anew(node, meta, entries);
        }
        node.layout(entries, 0, entries.count, most_blocks_);
        return;
      }
      case how::split:
        break;
    }
    MXKV_ASSERT(false, "a split is applied by split()");
  }

  /// Applies the split. Under the latch of the left node.
  void split(NodeT& left) noexcept {
    MXKV_ASSERT(kind_ == how::split && right_ != nullptr, "a split was planned");
    MXKV_ASSERT(middle_ > 0 && middle_ < entries_.count, "both halves of a split have entries");
    MXKV_ASSERT(!left.meta().frozen() && !left.life().dead(), "a node that splits is in use");
    right_->raise_order_floor(left.order_floor());
    right_->store_due(left.due());
    right_->store_right(left.right());
    // A node that waits right of the left node would miss the end of the left node's claim.
    behind_ =
        left.life().claimed() ? static_cast<NodeT*>(runtime::TaggedPointer{left.right()}.object()) : nullptr;
    left_prefix_.store(left);
    switch (left.meta().level()) {
      case 0:
        MXKV_PATH(split_leaf);
        break;
      case 1:
        MXKV_PATH(split_inner);
        break;
      default:
        MXKV_PATH(split_above_inner);
        break;
    }
    if (by_blocks_) {
      left.keep_lower_half(left.meta().blocks());
    } else {
      left.layout(entries_, 0, middle_, most_blocks_);
    }
    left.store_high(bound_, Traits::head(Traits::fence_key(bound_), left_prefix_.bytes));
    left.store_meta(left.meta().with_high_infinite(false));
    left.store_right(TreeT::tag(right_).word());
  }

  [[nodiscard]] NodeT* right() const noexcept { return right_; }
  /// The node right of the new one, if it may wait for the end of the left node's claim (node_life.hpp).
  [[nodiscard]] NodeT* behind() const noexcept { return behind_; }
  /// The separator for the parent.
  [[nodiscard]] std::uint64_t separator() const noexcept { return bound_; }

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

  /// How many entries stay left where a full leaf is split in a run of keys that come in order; 0 if they come in
  /// any. The key is at an end of the run: the next key beyond is further away than a third of the leaf spans on
  /// the key's other side. Of random keys of a leaf of 48 one in 65,536 is. Keys of the run may have overtaken it.
  [[nodiscard]] static unsigned part_of_run(const NodeT& leaf, NodeMeta meta, std::uint64_t head,
                                            Position at) noexcept {
    const unsigned total = meta.total();
    const unsigned rank = NodeT::rank_of(meta, at);
    const unsigned run = std::max(total / 3, 1U);
    const unsigned overtakes = total / kOvertakes;
    if (rank <= overtakes) {
      const std::uint64_t first = leaf.head_at(meta, 0);
      return first - low_head(leaf, meta) > leaf.head_at(meta, run) - first ? std::max(rank, 1U) : 0;
    }
    if (rank < run || rank > total) {
      return 0;
    }
    const std::uint64_t next = rank < total ? leaf.head_at(meta, rank) : leaf.high_head();
    const std::uint64_t last = leaf.head_at(meta, total - 1);
    // Text has gaps inside a leaf: 'a' is far from '9'. There the gap has to be wider than all keys before it.
    const unsigned from = Traits::kExact || rank == total ? rank - run : 0;
    const bool at_its_end = next - head > head - leaf.head_at(meta, from);
    const bool near_its_end =
        rank + overtakes >= total && leaf.high_head() - last > last - leaf.head_at(meta, total - 1 - run);
    return at_its_end || near_its_end ? std::min(rank, total - 1) : 0;
  }
  /// The head of the low fence, which is in memory while the task that plans is pinned.
  [[nodiscard]] static std::uint64_t low_head(const NodeT& leaf, NodeMeta meta) noexcept {
    const std::uint64_t low = leaf.low_now();
    return Traits::kExact || low == 0 ? low : Traits::head(Traits::fence_key(low), meta.prefix_bytes());
  }

  /// At an edge of the level the prefix follows from the entries.
  static void lay_prefix_anew(NodeT& node, NodeMeta meta, Entries& entries) noexcept {
    const std::uint64_t high = meta.high_infinite() ? 0 : node.high();
    const bool leaf = meta.level() == 0;
    const auto prefix = PrefixT::of(entries, 0, entries.count, leaf, node.low(), high);
    prefix.store(node);
    prefix.rehead(entries, 0, entries.count, leaf, node.low());
    if (high != 0) {
      node.store_high(high, Traits::head(Traits::fence_key(high), prefix.bytes));
    }
  }

  planned plan_split(TreeT& tree, NodeT& node, NodeMeta meta, const runtime::OptimisticRead& read,
                     runtime::Worker& worker) noexcept {
    const bool leaf = meta.level() == 0;
    const std::uint64_t high = node.high();
    const std::uint64_t low = node.low();
    // Appending at the right edge is how sorted loads come: leave the left node full.
    const bool appends = !leaf && meta.high_infinite() && NodeT::rank_of(meta, at_) == meta.total();
    by_blocks_ = leaf && !appends && kept_ == 0 && NodeT::divides_by_blocks(meta, meta.blocks()) &&
                 meta.blocks() <= most_blocks_ && (Traits::kExact || (low != 0 && !meta.high_infinite()));
    if (by_blocks_) {
      copy_middle(node, meta);
    } else {
      node.copy_entries(meta, with_separators(meta), entries_);
    }
    if (!read.valid()) {
      return planned::torn;
    }
    MXKV_ASSERT(entries_.count >= 2, "a node that splits has entries for both halves");
    MXKV_ASSERT(kept_ < entries_.count, "a run leaves an entry for the other half");
    middle_ = appends ? entries_.count - 1 : kept_ != 0 ? kept_ : entries_.count / 2;
    if (kept_ != 0) {
      MXKV_PATH(split_in_order);
    }
    if (!make_bound(worker, leaf) ||
        (right_ = tree.allocate_node(worker, meta.level(), node.life().generation())) == nullptr) {
      MXKV_PATH(no_memory_to_split);
      free_split(worker);
      return planned::out_of_memory;
    }
    const std::uint64_t end = meta.high_infinite() ? 0 : high;
    left_prefix_ = PrefixT::of(entries_, 0, middle_, leaf, low, bound_);
    const auto right_prefix = appends ? PrefixT::of_lone(Traits::fence_key(bound_), meta)
                                      : PrefixT::of(entries_, middle_, entries_.count, leaf, bound_, end);
    const bool same = left_prefix_.bytes == meta.prefix_bytes() && right_prefix.bytes == meta.prefix_bytes();
    if (by_blocks_ && !same) {  // whole keys are needed
      by_blocks_ = false;
      node.copy_entries(meta, false, entries_);
      if (!read.valid()) {
        free_split(worker);
        return planned::torn;
      }
    }
    if (left_prefix_.bytes != meta.prefix_bytes()) {
      left_prefix_.rehead(entries_, 0, middle_, leaf, low);
    }
    if (right_prefix.bytes != meta.prefix_bytes() || !leaf) {
      right_prefix.rehead(entries_, middle_, entries_.count, leaf, bound_);
    }
    right_->store_meta(right_->meta().with_high_infinite(meta.high_infinite()));
    right_prefix.store(*right_);
    right_->store_low(bound_);
    right_->store_high(
        high, end == 0 ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), right_prefix.bytes));
    right_->life().set_separator_pending(true);
    if (!leaf) {
      entries_.separators[middle_] = 0;  // it is the right node's low fence now
    }
    if (by_blocks_) {
      MXKV_PATH(split_by_blocks);
      right_->take_upper_half(node, meta.blocks());
    } else {
      right_->layout(entries_, middle_, entries_.count, most_blocks_);
    }
    return planned::ready;
  }

  /// Copies the entries on both sides of a full leaf's middle, from which the fence is made.
  void copy_middle(const NodeT& node, NodeMeta meta) noexcept {
    const unsigned blocks = meta.blocks();
    const auto right = static_cast<std::uint8_t>(blocks / 2);
    const auto left = static_cast<std::uint8_t>(right - 1);
    entries_.count = blocks * Traits::Shape::kSlots;
    const unsigned middle = entries_.count / 2;
    entries_.heads[middle] = node.head(true, Position{right, 0});
    entries_.values[middle] = node.value(true, Position{right, 0});
    entries_.values[middle - 1] = node.value(true, Position{left, Traits::Shape::kSlots - 1});
  }

  /// Makes the bound of both halves: in a leaf the shortest key that divides, in an inner node the middle
  /// separator.
  bool make_bound(runtime::Worker& worker, bool leaf) noexcept {
    made_bound_ = leaf;
    if constexpr (Traits::kExact) {
      bound_ = entries_.heads[middle_];
      return true;
    } else {
      if (!leaf) {
        bound_ = entries_.separators[middle_];
        return true;
      }
      return Traits::make_fence(worker,
                                shortest_separator(Traits::Record::key(entries_.values[middle_ - 1]),
                                                   Traits::Record::key(entries_.values[middle_])),
                                bound_);
    }
  }

  void free_split(runtime::Worker& worker) noexcept {
    if (made_bound_) {
      Traits::free_fence(worker, bound_);
    }
    if (right_ != nullptr) {
      worker.nodes().release(right_);
    }
    bound_ = 0;
    right_ = nullptr;
  }

  how kind_ = how::insert;
  Position at_;
  unsigned most_blocks_ = ~0U;
  unsigned kept_ = 0;  ///< see in_order()
  bool made_bound_ = false;
  bool by_blocks_ = false;  ///< whole blocks move, and entries_ has the middle alone
  NodeT* right_ = nullptr;
  NodeT* behind_ = nullptr;
  unsigned middle_ = 0;
  PrefixT left_prefix_;
  std::uint64_t bound_ = 0;  ///< of both halves
  Entries entries_;
};

}  // namespace mxkv::index

// How a full leaf avoids a split: its entries and its right neighbour's are divided anew between the two, or,
// where both are full, among three. So leaves fill to four fifths rather than to two thirds. [Comer, "The
// Ubiquitous B-Tree", B*-trees]
//
//   parent    a   d         a   b                 a   b   c
//   leaves   [a,d)[d,e)    [a,b)[b,e)       or   [a,b)[b,c)[c,e)
//
// Entries go to the right only, so low fences only go down. A task that comes to a leaf for a key that has
// left it follows the right link, as after a split. The parent, the leaf and its neighbour are latched at
// once, so that no other task meets a state in between. So a leaf's separator in its parent always is its low
// fence. A first child, whose low fence is its parent's, is never the right neighbour here. The latches are
// tries from the versions that were read. All values are computed before latching. Under the latches there
// are only stores.
//
// The leaf that overflows is latched by its task. Its parent is the node that the task came from, if that
// still is the parent. In trees whose nodes have other primitives than the optimistic latch, leaves split.
#pragma once

#include "index/insert_plan.hpp"

namespace mxkv::index {

/// Entries of neighbouring leaves, copied out one after the other. Heads are ranks, as leaves hold them.
struct RunEntries {
  struct Nothing {
    constexpr std::uint64_t operator[](unsigned /*entry*/) const noexcept { return 0; }
  };
  static constexpr unsigned kMax = 2 * NodeMeta::kMaxBlocks * NodeMeta::kMaxSlots;
  std::array<std::uint64_t, kMax + NodeMeta::kMaxSlots> heads;
  std::array<std::uint64_t, kMax + NodeMeta::kMaxSlots> values;
  [[no_unique_address]] Nothing separators;
  unsigned count = 0;
};

/// The result of planning.
enum class overflow : std::uint8_t {
  ready,
  torn,        ///< something changed meanwhile: read again
  impossible,  ///< the leaf is to be split
};

template <class Traits>
class OverflowPlan {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  using PrefixT = Prefix<Traits>;
  /// Whether leaves of the tree overflow, and the leaf's parent, null if it is not known, may be latched for
  /// that.
  [[nodiscard]] static bool possible(const TreeT& tree, const NodeT* parent) noexcept {
    return parent != nullptr && (Traits::kLatchedNodes || tree.all_latched());
  }

  /// Plans for a full leaf that was read at `version` and reached from `parent`, null if that is not known.
  overflow plan(TreeT& tree, NodeT& leaf, std::uint64_t version, NodeT* parent,
                runtime::Worker& worker) noexcept {
    const NodeMeta meta = leaf.meta();
    if (meta.high_infinite() || !possible(tree, parent)) {
      return overflow::impossible;
    }
    const runtime::OptimisticRead read{leaf, version};
    const runtime::OptimisticRead above{*parent};
    parent_ = parent;
    parent_version_ = above.version();
    right_ = node_of(leaf.right());
    if (!read.valid()) {
      return overflow::torn;
    }
    if (above.locked() || !find_neighbours(leaf) || !above.valid()) {
      MXKV_PATH(overflow_not_below_one);
      return overflow::impossible;
    }
    const runtime::OptimisticRead beside{*right_};
    right_version_ = beside.version();
    const NodeMeta its = right_->meta();
    if (beside.locked() || its.frozen() || !divide(tree, meta.total(), its.total())) {
      MXKV_PATH(overflow_no_room);
      return overflow::impossible;
    }
    copy(leaf, meta);
    copy(*right_, its);
    fences_ = {leaf.low(), 0, 0, 0};
    fences_[leaves_] = its.high_infinite() ? 0 : right_->high();
    replaced_ = right_->low();
    if (!read.valid() || !beside.valid()) {
      return overflow::torn;
    }
    if (!make_bounds(worker) || !fits_parent(tree) || (leaves_ == 3 && !make_third(tree, leaf, worker))) {
      abandon(worker);
      return overflow::impossible;
    }
    choose_prefixes(meta, its);
    if (leaves_ == 3) {
      third_->store_low(fences_[2]);
      lay_out(*third_, 2, its.high_infinite());
    }
    ready_ = true;
    return overflow::ready;
  }

  [[nodiscard]] bool ready() const noexcept { return ready_; }

  /// Under the leaf's latch. Does nothing where another task writes to one of the other nodes, or has
  /// written.
  void apply(NodeT& leaf) noexcept {
    runtime::WriteLatch above = runtime::WriteLatch::upgrade(*parent_, parent_version_);
    if (!above) {
      MXKV_PATH(overflow_lost);
      return;
    }
    const runtime::WriteLatch beside = runtime::WriteLatch::upgrade(*right_, right_version_);
    if (!beside) {
      MXKV_PATH(overflow_lost);
      above.release_unchanged();
      return;
    }
    MXKV_ASSERT(!leaf.meta().frozen() && !right_->meta().frozen() && !parent_->meta().frozen(),
                "what is on its way out takes part in nothing");
    const bool infinite = right_->meta().high_infinite();
    right_->raise_order_floor(leaf.order_floor());
    right_->store_due(right_->due().or_sooner(leaf.due()));
    parent_->store_bound(at_, above_[1], fences_[1]);
    if (leaves_ == 3) {
      MXKV_PATH(overflow_three);
      third_->raise_order_floor(right_->order_floor());
      third_->store_due(right_->due());
      third_->store_right(right_->right());
      // A node that waits right of right_ would miss the end of right_'s claim.
      behind_ = right_->life().claimed() ? node_of(right_->right()) : nullptr;
      right_->store_right(TreeT::tag(third_).word());
      in_parent_.insert(*parent_, above_[2], TreeT::tag(third_).word(), fences_[2]);
    } else {
      MXKV_PATH(overflow_share);
    }
    right_->store_low(fences_[1]);
    lay_out(*right_, 1, infinite && leaves_ == 2);
    lay_out(leaf, 0, false);
    done_ = true;
  }

  /// After the latch. `holder` is the task, at the leaf.
  void finish(TreeT& tree, const runtime::MxTask& holder, runtime::Worker& worker) noexcept {
    if (!done_) {
      abandon(worker);
      return;
    }
    tree.retire_fence(worker, replaced_);
    if (behind_ != nullptr) [[unlikely]] {
      MXKV_PATH(overflow_of_claimed);
      resume_unlink(tree, *behind_, holder, worker);
    }
  }

  /// Frees a plan that was not applied.
  void abandon(runtime::Worker& worker) noexcept {
    for (unsigned i = 1; i < leaves_; ++i) {
      Traits::free_fence(worker, std::exchange(fences_[i], 0));
    }
    if (third_ != nullptr) {
      worker.nodes().release(std::exchange(third_, nullptr));
    }
    leaves_ = 0;
    ready_ = false;
  }

 protected:  // for MergePlan
  using Key = typename Traits::Key;

  [[nodiscard]] static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }

  /// Finds the place of the right neighbour in the parent. False: it is not right behind the leaf's.
  [[nodiscard]] bool find_neighbours(const NodeT& leaf) noexcept {
    above_meta_ = parent_->meta();
    if (above_meta_.level() != 1 || above_meta_.frozen()) {
      return false;
    }
    const NodeT* before = nullptr;
    const unsigned blocks = std::min(above_meta_.blocks(), Traits::Shape::blocks(false));
    for (unsigned block = 0; block < blocks; ++block) {
      const unsigned count = NodeT::clamp_count(above_meta_, block);
      for (unsigned slot = 0; slot < count; ++slot) {
        const Position at{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
        const NodeT* const child = node_of(parent_->value(false, at));
        if (child == right_) {
          at_ = at;
          return before == &leaf;
        }
        before = child;
      }
    }
    return false;
  }

  /// Chooses among how many leaves the entries are divided, and where. The neighbour takes a share only if it
  /// has room for a few entries.
  [[nodiscard]] bool divide(const TreeT& tree, unsigned mine, unsigned its) noexcept {
    const unsigned most = tree.most_entries(true);
    most_blocks_ = tree.most_blocks(true);
    const bool shares = its + std::max(2U, most / kLeastRoom) <= most;
    leaves_ = shares ? 2 : 3;
    const unsigned all = mine + its;
    const unsigned each = all / leaves_;
    cuts_ = {0, each + (all % leaves_ > 0 ? 1 : 0), 0, 0};
    cuts_[2] = shares ? all : cuts_[1] + each + (all % leaves_ > 1 ? 1 : 0);
    cuts_[leaves_] = all;
    const bool goes = cuts_[1] < mine && all <= RunEntries::kMax && each > 0;
    leaves_ = goes ? leaves_ : 0;
    return goes;
  }

  void copy(const NodeT& leaf, NodeMeta meta) noexcept {
    const unsigned blocks = std::min(meta.blocks(), Traits::Shape::blocks(true));
    for (unsigned block = 0; block < blocks; ++block) {
      // Whole lines: the next block's entries overwrite the words behind a block's entries.
      line_insert::take(leaf.leaf_line(block, 0), &entries_.heads[entries_.count],
                        &entries_.values[entries_.count]);
      entries_.count += NodeT::clamp_count(meta, block);
    }
  }

  /// Makes the shortest keys that divide the leaves. False: out of memory.
  [[nodiscard]] bool make_bounds(runtime::Worker& worker) noexcept {
    MXKV_ASSERT(entries_.count == cuts_[leaves_], "what was counted is what was copied");
    for (unsigned i = 1; i < leaves_; ++i) {
      if (!make_bound(i, worker)) {
        return false;
      }
    }
    return true;
  }
  /// Makes the low fence of one leaf. Where nothing stays before it, the fence is above the run's low fence.
  [[nodiscard]] bool make_bound(unsigned i, runtime::Worker& worker) noexcept {
    const unsigned cut = cuts_[i];
    if constexpr (Traits::kExact) {
      fences_[i] = head_of_rank(entries_.heads[cut]);
      return true;
    } else {
      const Key below =
          cut > 0 ? Traits::Record::key(entries_.values[cut - 1]) : Traits::fence_key(fences_[0]);
      return Traits::make_fence(worker, shortest_separator(below, Traits::Record::key(entries_.values[cut])),
                                fences_[i]);
    }
  }

  /// Whether the parent takes the new bounds without a split, and replaces the old bound without a new
  /// layout.
  [[nodiscard]] bool fits_parent(TreeT& tree) noexcept {
    for (unsigned i = 1; i < leaves_; ++i) {
      const Key key = Traits::fence_key(fences_[i]);
      if (PrefixT::lacks_loose(*parent_, above_meta_, key)) {
        MXKV_PATH(overflow_beyond_prefix);
        return false;
      }
      above_[i] = PrefixT::head(*parent_, above_meta_, key);
    }
    if (leaves_ == 3) {
      const Position behind{at_.block, static_cast<std::uint8_t>(at_.slot + 1U)};
      return in_parent_.choose(tree, *parent_, above_meta_, Traits::fence_key(fences_[2]), behind) !=
             InsertPlan<Traits>::how::split;
    }
    return true;
  }

  [[nodiscard]] bool make_third(TreeT& tree, const NodeT& leaf, runtime::Worker& worker) noexcept {
    third_ = tree.allocate_node(worker, 0, leaf.life().generation(), NodeT::holds::nothing_yet);
    return third_ != nullptr;
  }

  /// Chooses prefixes and computes the heads after them. Reads whole keys where a prefix would get much
  /// longer, or would tell entries apart whose heads are the same. Else all leaves get the shorter prefix of
  /// the two, and the bytes that this adds to a head are known.
  void choose_prefixes([[maybe_unused]] NodeMeta mine, [[maybe_unused]] NodeMeta its) noexcept {
    if constexpr (!Traits::kExact) {
      const std::size_t least = std::min(mine.prefix_bytes(), its.prefix_bytes());
      const std::size_t most = std::max(mine.prefix_bytes(), its.prefix_bytes());
      bool whole_keys = mine.ties() || its.ties() || most > least + kShifted;
      for (unsigned i = 0; i < leaves_; ++i) {
        prefixes_[i] = PrefixT::of(entries_, cuts_[i], cuts_[i + 1], true, fences_[i], fences_[i + 1]);
        whole_keys |= fences_[i] == 0 || fences_[i + 1] == 0 || prefixes_[i].bytes > least + kShifted;
      }
      if (whole_keys) {
        MXKV_PATH(overflow_whole_keys);
        read_whole_keys();
        return;
      }
      const unsigned own = mine.total();
      may_tie_ = most > least || own == entries_.count || entries_.heads[own - 1] == entries_.heads[own];
      shorten(0, own, mine.prefix_bytes() - least, head_of(Traits::fence_key(fences_[0]), least));
      shorten(own, entries_.count, its.prefix_bytes() - least, head_of(Traits::fence_key(replaced_), least));
      for (unsigned i = 0; i < leaves_; ++i) {
        prefixes_[i].bytes = least;
      }
    }
  }

  /// Computes all heads after the chosen prefixes from whole keys.
  void read_whole_keys() noexcept {
    may_tie_ = true;
    for (unsigned i = 0; i < leaves_; ++i) {
      prefixes_[i].rehead(entries_, cuts_[i], cuts_[i + 1], true, 0);
    }
    for (unsigned i = 0; i < entries_.count; ++i) {
      entries_.heads[i] = static_cast<std::uint64_t>(rank_of_head(entries_.heads[i]));
    }
  }

  /// Computes heads of entries whose prefix gets `bytes` shorter, at most kShifted: `sample` begins with
  /// these bytes.
  void shorten(unsigned first, unsigned last, std::size_t bytes, std::uint64_t sample) noexcept {
    if (bytes > 0) {
      MXKV_PATH(overflow_shorter_prefix);
      const std::uint64_t given = sample & ~(~std::uint64_t{0} >> (8 * bytes));
      for (unsigned i = first; i < last; ++i) {
        const std::uint64_t head = given | head_of_rank(entries_.heads[i]) >> (8 * bytes);
        entries_.heads[i] = static_cast<std::uint64_t>(rank_of_head(head));
      }
    }
  }

  /// Stores a leaf's entries, prefix and high fence; not its low fence.
  void lay_out(NodeT& leaf, unsigned i, bool infinite) noexcept {
    const std::uint64_t high = fences_[i + 1];
    leaf.store_meta(leaf.meta().with_high_infinite(infinite));
    if constexpr (!Traits::kExact) {
      prefixes_[i].store(leaf);
    }
    leaf.lay_out_run(&entries_.heads[cuts_[i]], &entries_.values[cuts_[i]], cuts_[i + 1] - cuts_[i],
                     most_blocks_, may_tie_);
    leaf.store_high(high,
                    infinite ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), prefixes_[i].bytes));
  }

  NodeT* parent_ = nullptr;
  NodeT* right_ = nullptr;
  NodeT* third_ = nullptr;  ///< the new leaf, of three
  NodeT* behind_ =
      nullptr;  ///< right of the third, if it may wait for the end of right_'s claim (node_life.hpp)
  std::uint64_t parent_version_ = 0;
  std::uint64_t right_version_ = 0;
  std::uint64_t replaced_ = 0;  ///< the old bound between the two leaves
  Position at_;                 ///< of right_ in the parent
  NodeMeta above_meta_{0};
  unsigned leaves_ = 0;
  unsigned most_blocks_ = 0;
  bool may_tie_ = false;  ///< whether entries may have equal heads
  bool ready_ = false;
  bool done_ = false;
  std::array<unsigned, 4> cuts_;         ///< where the entries of each leaf begin
  std::array<std::uint64_t, 4> fences_;  ///< each leaf's low one, then the last high one, 0 if infinite
  std::array<std::uint64_t, 3> above_;   ///< their heads in the parent
  std::array<PrefixT, 3> prefixes_;
  InsertPlan<Traits> in_parent_;
  RunEntries entries_;

 private:
  static constexpr unsigned kLeastRoom = 6;   ///< a neighbour with room for this part of a leaf takes a share
  static constexpr std::size_t kShifted = 3;  ///< bytes by which a prefix may be shorter than it could be
};

}  // namespace mxkv::index

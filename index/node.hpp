// A node of the Blink-tree: 14 cache lines of relaxed words, laid out for staged prefetching.
//
//   line 0      version | meta | fence of blocks 1..5 | head of the high fence (greatest: +infinity)
//   line 1      right sibling | low fence | high fence | due, order floor | life (node_life.hpp) | prefix
//   then blocks of  keys (8 words) | values (8 words) [| separators (8 words): inner nodes of byte keys]
//
// A search reads line 0, which names the one block that can hold the key, then that block's key line and
// value line: three lines of a leaf instead of fourteen. Entries are sorted across blocks; each block has
// room to grow, so that an insert shifts at most eight words. Fence j is a bound: heads in earlier blocks are
// at most the fence, heads from block j on at least. Entries of an inner node are (lower bound, child); the
// first one's bound is the node's low fence.
//
// For 64-bit keys a head is the key. For byte keys it is the eight bytes after the node's prefix, which is
// what all keys between the node's fences begin with. Heads are held as ranks (line_compare.hpp); unused ones
// are the greatest.
//
// Thread-safety: readers under OptimisticRead, writers under WriteLatch; layout() also before publication.
// [Mx 5.1]; server/architecture/memory.md, "The memory model".
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "index/due.hpp"
#include "index/line_compare.hpp"
#include "index/line_insert.hpp"
#include "index/node_life.hpp"
#include "index/node_meta.hpp"
#include "index/node_shape.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/relaxed_word.hpp"
#include "runtime/resource/data_object.hpp"

namespace mxkv::index {

template <class Shape>
class alignas(runtime::kCacheLineBytes) Node : public runtime::DataObject {
  using Word = runtime::RelaxedWord;

 public:
  static constexpr unsigned kLines = 14;
  static constexpr unsigned kHeaderLines = 2;
  static constexpr std::size_t kPrefixInlineBytes = 24;

  /// The entries that a new node begins with.
  enum class holds : std::uint8_t {
    no_entry,
    nothing_yet,  ///< it is to be laid out by lay_out_run()
  };

  Node(runtime::PoolId pool, runtime::primitive how, unsigned level, std::uint64_t generation,
       holds what = holds::no_entry) noexcept
      : DataObject(pool, how), life_(generation) {
    store_meta(meta().with_level(level).with_high_infinite(true));
    for (Word* word : {&right_, &low_, &high_, &order_floor_}) {
      word->store(0);
    }
    store_rank(bounds_[kHighBound], kUnusedHead);
    for (Word& word : prefix_) {
      word.store(0);
    }
    if (what == holds::no_entry) {
      Entries none;
      layout(none, 0, 0);
    }
  }

  [[nodiscard]] NodeMeta meta() const noexcept { return NodeMeta{DataObject::meta().load()}; }
  void store_meta(NodeMeta meta) noexcept { DataObject::meta().store(meta.word()); }
  [[nodiscard]] bool leaf() const noexcept { return meta().level() == 0; }

  // Words of the header lines.
  [[nodiscard]] std::uint64_t fence(unsigned j) const noexcept { return load_head(bounds_[j]); }
  [[nodiscard]] std::uint64_t high_head() const noexcept { return load_head(bounds_[kHighBound]); }
  [[nodiscard]] std::uint64_t right() const noexcept { return right_.load(); }
  [[nodiscard]] std::uint64_t low() const noexcept { return low_.load(); }
  [[nodiscard]] std::uint64_t high() const noexcept { return high_.load(); }
  [[nodiscard]] std::uint64_t order_floor() const noexcept { return order_floor_.load() & kOrderMask; }
  /// When a task should next look at the leaf.
  [[nodiscard]] Due due() const noexcept { return Due::from_bits(order_floor_.load() >> kDueShift); }
  [[nodiscard]] std::uint64_t prefix_word(unsigned i) const noexcept { return prefix_[i].load(); }
  /// A node without a high fence has the greatest head here.
  void store_high(std::uint64_t high, std::uint64_t head) noexcept {
    high_.store(high);
    store_rank(bounds_[kHighBound], head);
  }
  void store_right(std::uint64_t right) noexcept { right_.store(right); }
  void store_low(std::uint64_t low) noexcept { low_.store_release(low); }
  /// The low fence, of a node that is not read under a version. Pairs with store_low().
  [[nodiscard]] std::uint64_t low_now() const noexcept { return low_.load_acquire(); }
  void store_prefix_word(unsigned i, std::uint64_t word) noexcept { prefix_[i].store(word); }
  void raise_order_floor(std::uint64_t order) noexcept {
    if (order > order_floor()) {
      store_floor(order, due());
    }
  }
  void store_due(Due due) noexcept { store_floor(order_floor(), due); }
  /// The node's state in the tree.
  [[nodiscard]] NodeLife& life() noexcept { return life_; }
  [[nodiscard]] const NodeLife& life() const noexcept { return life_; }

  // Lines, for prefetch annotations.
  [[nodiscard]] static constexpr unsigned first_line_of(unsigned block, bool leaf) noexcept {
    return kHeaderLines + block * Shape::lines_per_block(leaf);
  }

  /// Asks for all lines of a node.
  static void prefetch(runtime::TaggedPointer node) noexcept {
    const std::byte* line = node.first_line();
    for (unsigned n = 0; n < kLines; ++n, line += runtime::kCacheLineBytes) {
      runtime::prefetch_read(line);
    }
  }

  // Entries.
  [[nodiscard]] std::uint64_t head(bool leaf, Position at) const noexcept {
    return load_head(line(leaf, at.block, 0)[at.slot]);
  }
  [[nodiscard]] std::uint64_t value(bool leaf, Position at) const noexcept {
    return line(leaf, at.block, 1)[at.slot].load();
  }
  [[nodiscard]] std::uint64_t separator(Position at) const noexcept {
    return line(false, at.block, 2)[at.slot].load();
  }
  void store_value(bool leaf, Position at, std::uint64_t value) noexcept {
    line(leaf, at.block, 1)[at.slot].store(value);
  }

  /// A block's heads, as ranks, (row 0) or values (row 1) in a leaf.
  [[nodiscard]] const Word* leaf_line(unsigned block, unsigned row) const noexcept {
    return line(true, block, row);
  }

  /// Entries of a block, at most kSlots.
  [[nodiscard]] static unsigned clamp_count(NodeMeta meta, unsigned block) noexcept {
    const unsigned count = meta.count(block);
    return count < Shape::kSlots ? count : Shape::kSlots;
  }

  /// Bit j is set when fence j is above `rank`, bit 5 when the high fence's head is: all of line 0 at once.
  template <class Compare = line_compare::AsFound>
  [[nodiscard, gnu::always_inline]] unsigned bounds_above(Rank rank) const noexcept {
    if constexpr (std::is_same_v<Compare, line_compare::AsFound>) {
      if (line_compare::kVectors == line_compare::vectors::none) [[unlikely]] {
        return bounds_above<line_compare::ByWords>(rank);
      }
    }
    if constexpr (std::is_same_v<Compare, line_compare::ByWords>) {
      return line_compare::above_by_words(bounds_, kHighBound + 1, rank);
    } else {
      return Compare::above(this, rank) >> kBoundsShift;
    }
  }
  static constexpr unsigned kHighAbove = 1U << (NodeMeta::kMaxBlocks - 1);
  /// The block that bounds_above() names for a rank below the high fence. Fences of blocks that a node never
  /// has are the greatest, so the block is one of the node's.
  [[nodiscard]] static unsigned block_below(unsigned bounds_above) noexcept {
    return static_cast<unsigned>(std::countr_zero(bounds_above | kHighAbove));
  }

  // For searches by `limit`, the least rank above the key's: a rank at most the key's is below the limit.
  /// Where the blocks of a leaf or of an inner node are.
  template <bool kLeaf>
  using Blocks = line_compare::Blocks<kHeaderLines * runtime::kCacheLineBytes,
                                      Shape::lines_per_block(kLeaf) * runtime::kCacheLineBytes,
                                      kLines * runtime::kCacheLineBytes>;
  /// The words of a line from the first one on.
  [[nodiscard]] const Word* line_at(unsigned line) const noexcept {
    return &words_[std::size_t{line - kHeaderLines} * 8];
  }
  /// The words of a block, at the offset that line_compare::Through gives.
  [[nodiscard]] const Word* block_at(std::size_t offset) const noexcept { return &words_[offset / 8]; }

  /// The block whose entries may equal `head`, or hold the last one at most `head`: count of fences at or
  /// (strict) below it.
  [[nodiscard, gnu::always_inline]] unsigned block_for(NodeMeta meta, std::uint64_t head,
                                                       bool strict) const noexcept {
    if (!strict) {
      return clamp_block(meta, block_below(bounds_above(rank_of_head(head))));
    }
    return clamp_block(meta, static_cast<unsigned>(std::countr_one(
                                 line_compare::below_by_words(bounds_, kHighBound, rank_of_head(head)))));
  }
  /// A block index that is safe to use, whatever a torn read said.
  [[nodiscard]] unsigned clamp_block(NodeMeta meta, unsigned block) const noexcept {
    const unsigned most = Shape::blocks(meta.level() == 0);
    unsigned used = meta.blocks();
    used = used > most ? most : used;
    return block < used ? block : (used == 0 ? 0 : used - 1);
  }

  /// How many heads of a block are below one of this rank. Unused slots hold the greatest, so all eight are
  /// compared without a look at the count.
  template <class Compare = line_compare::AsFound>
  [[nodiscard, gnu::always_inline]] unsigned count_below(bool leaf, unsigned block,
                                                         Rank rank) const noexcept {
    return static_cast<unsigned>(std::countr_one(Compare::below(line(leaf, block, 0), rank)));
  }
  /// How many heads of a block are at most of this rank, which is not the greatest.
  template <class Compare = line_compare::AsFound>
  [[nodiscard, gnu::always_inline]] unsigned count_up_to(bool leaf, unsigned block,
                                                         Rank rank) const noexcept {
    constexpr unsigned kEnd = 1U << NodeMeta::kMaxSlots;
    return static_cast<unsigned>(std::countr_zero(Compare::above(line(leaf, block, 0), rank) | kEnd));
  }

  /// Whether a slot holds a head of this rank; any number is a slot.
  [[nodiscard, gnu::always_inline]] bool holds_rank(bool leaf, unsigned block, unsigned slot,
                                                    Rank rank) const noexcept {
    return slot < NodeMeta::kMaxSlots &&
           line(leaf, block, 0)[slot].load() == static_cast<std::uint64_t>(rank);
  }

  /// Copies all entries out; at most as many as fit.
  void copy_entries(NodeMeta meta, bool with_separators, Entries& out) const noexcept {
    const bool is_leaf = meta.level() == 0;
    out.count = 0;
    for (unsigned block = 0; block < Shape::blocks(is_leaf); ++block) {
      const unsigned count = block < meta.blocks() ? clamp_count(meta, block) : 0;
      for (unsigned slot = 0; slot < count; ++slot, ++out.count) {
        out.heads[out.count] = load_head(line(is_leaf, block, 0)[slot]);
        out.values[out.count] = line(is_leaf, block, 1)[slot].load();
        out.separators[out.count] = with_separators ? line(is_leaf, block, 2)[slot].load() : 0;
      }
    }
  }

  // --- Writers ---

  /// Lays out entries [first, last) evenly over the blocks, and sets the fences. `most_blocks`: as many as
  /// there are, or fewer if the entries fit into them.
  void layout(const Entries& entries, unsigned first, unsigned last, unsigned most_blocks = ~0U) noexcept {
    const bool is_leaf = leaf();
    const unsigned count = last - first;
    const unsigned most = Shape::blocks(is_leaf);
    const unsigned least = (count + Shape::kSlots - 1) / Shape::kSlots;
    MXKV_ASSERT(first <= last && last <= entries.count && least <= most, "entries fit into the node");
    const unsigned wanted = std::clamp(most_blocks, least, most);
    const unsigned blocks = count == 0 ? 1 : (count < wanted ? count : wanted);
    bool ties = false;
    for (unsigned i = first + 1; i < last; ++i) {
      ties |= entries.heads[i - 1] == entries.heads[i];
    }
    NodeMeta changed = meta().with_blocks(blocks).with_ties(ties);
    unsigned next = first;
    for (unsigned block = 0; block < NodeMeta::kMaxBlocks; ++block) {
      const unsigned here = block < blocks ? count / blocks + (block < count % blocks ? 1 : 0) : 0;
      changed = changed.with_count(block, here);
      if (block > 0) {
        store_rank(bounds_[block - 1], here > 0 ? entries.heads[next] : kUnusedHead);
      }
      for (unsigned slot = 0; slot < here; ++slot, ++next) {
        store_entry(is_leaf, block, slot, entries.heads[next], entries.values[next],
                    entries.separators[next]);
      }
      if (block < most) {
        pad(is_leaf, block, here);
      }
    }
    store_meta(changed);
  }

  /// Whether an entry fits at `at`: in its block, or beside it.
  [[nodiscard, gnu::always_inline]] bool fits(NodeMeta meta, Position at) const noexcept {
    return fits_alone(meta, at) || room_beside(meta, at.block) != at.block;
  }
  /// Whether it does without moving others to other blocks.
  [[nodiscard, gnu::always_inline]] bool fits_alone(NodeMeta meta, Position at) const noexcept {
    return meta.count(at.block) < Shape::kSlots;
  }
  /// The nearest block in use with room, to which a full one hands an entry on; the block itself: there is none.
  [[nodiscard]] static unsigned room_beside(NodeMeta meta, unsigned block) noexcept;
  /// Prefetches the lines of the blocks through which hand_on() passes from `block` to `to`, except the lines
  /// of `block`. If both are the same, prefetches all lines of the node but the first.
  void prefetch_beside(unsigned block, unsigned to, bool leaf) const noexcept;

  /// Whether `at` is behind the last entry and a new block can be opened for it.
  [[nodiscard]] bool can_open_block(NodeMeta meta, Position at) const noexcept {
    return at.block + 1U == meta.blocks() && at.slot == Shape::kSlots &&
           meta.blocks() < Shape::blocks(meta.level() == 0);
  }

  void open_block(std::uint64_t head, std::uint64_t value, std::uint64_t separator) noexcept {
    const NodeMeta before = meta();
    const Position last{static_cast<std::uint8_t>(before.blocks() - 1), Shape::kSlots - 1};
    const bool ties = before.ties() || this->head(before.level() == 0, last) == head;
    store_meta(
        open_for(before, {static_cast<std::uint64_t>(rank_of_head(head)), value, separator}).with_ties(ties));
  }

  /// Takes in an entry where it fits(), or in a new block where it can_open_block() and no other has room.
  [[gnu::always_inline]] void insert(Position at, std::uint64_t head, std::uint64_t value,
                                     std::uint64_t separator) noexcept {
    const NodeMeta before = meta();
    const bool is_leaf = before.level() == 0;
    const unsigned count = before.count(at.block);
    MXKV_DCHECK(!before.frozen(), "a frozen node takes in nothing");
    MXKV_DCHECK(at.slot <= count && count <= Shape::kSlots, "an entry's place is in its block, or behind it");
    const bool ties = Shape::kMayTie && (before.ties() || may_tie(is_leaf, at, count, head));
    const Entry entry{static_cast<std::uint64_t>(rank_of_head(head)), value, separator};
    NodeMeta grown = before;
    if (count < Shape::kSlots) [[likely]] {
      put<line_insert::drops::last>(is_leaf, at.block, at.slot, entry);
      grown = before.with_one_more(at.block);
    } else {
      grown = hand_on(before, at, entry);
    }
    store_meta(Shape::kMayTie ? grown.with_ties(ties) : grown);
  }

  /// Gives an entry of an inner node, not its first one, another bound that leaves it at its place.
  void store_bound(Position at, std::uint64_t head, std::uint64_t separator) noexcept;

  /// Lays out a leaf anew, as layout(), with `count` entries. Eight words behind the last rank and the last
  /// value can be read. `may_tie`: whether some heads may be equal.
  void lay_out_run(const std::uint64_t* ranks, const std::uint64_t* values, unsigned count,
                   unsigned most_blocks, bool may_tie) noexcept;

  /// Lays out the upper half of a full node's entries over the blocks of this one, which is new. `from` may
  /// be written meanwhile: then the caller discards this node.
  void take_upper_half(const Node& from, unsigned blocks) noexcept;
  /// Keeps the lower half in this node.
  void keep_lower_half(unsigned blocks) noexcept;
  /// Whether both are possible: all of `blocks` are full, and each half consists of whole blocks.
  [[nodiscard]] static bool divides_by_blocks(NodeMeta meta, unsigned blocks) noexcept {
    return blocks % 2 == 0 && Shape::kSlots % 2 == 0 && meta.blocks() == blocks &&
           meta.total() == blocks * Shape::kSlots;
  }

  [[gnu::noinline]] void erase(Position at) noexcept {
    const NodeMeta before = meta();
    const bool is_leaf = before.level() == 0;
    const unsigned count = before.count(at.block);
    MXKV_ASSERT(at.block < before.blocks() && at.slot < count, "an entry that goes is there");
    for (unsigned i = at.slot + 1U; i < count; ++i) {
      copy_entry(is_leaf, at.block, i, i - 1);
    }
    store_rank(line(is_leaf, at.block, 0)[count - 1], kUnusedHead);
    store_meta(before.with_count(at.block, count - 1));
  }

  /// The head of the entry of a leaf with `rank` others before it.
  [[nodiscard]] std::uint64_t head_at(NodeMeta meta, unsigned rank) const noexcept {
    unsigned block = 0;
    for (; block + 1 < meta.blocks() && rank >= clamp_count(meta, block); ++block) {
      rank -= clamp_count(meta, block);
    }
    return head(true, {static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(rank % Shape::kSlots)});
  }
  /// Rank of a position among all entries.
  [[nodiscard]] static unsigned rank_of(NodeMeta meta, Position at) noexcept {
    unsigned rank = at.slot;
    for (unsigned block = 0; block < at.block; ++block) {
      rank += clamp_count(meta, block);
    }
    return rank;
  }

 private:
  [[nodiscard]] const Word* line(bool leaf, unsigned block, unsigned row) const noexcept {
    return &words_[(block * Shape::lines_per_block(leaf) + row) * 8];
  }
  [[nodiscard]] Word* line(bool leaf, unsigned block, unsigned row) noexcept {
    return &words_[(block * Shape::lines_per_block(leaf) + row) * 8];
  }
  [[nodiscard]] static std::uint64_t load_head(const Word& word) noexcept {
    return head_of_rank(word.load());
  }
  static void store_rank(Word& word, std::uint64_t head) noexcept {
    word.store(static_cast<std::uint64_t>(rank_of_head(head)));
  }

  static constexpr unsigned kDueShift = 64 - Due::kBits;
  static constexpr std::uint64_t kOrderMask = (std::uint64_t{1} << kDueShift) - 1;
  void store_floor(std::uint64_t order, Due due) noexcept {
    order_floor_.store(due.bits() << kDueShift | order);
  }

  static constexpr unsigned kHighBound = NodeMeta::kMaxBlocks - 1;
  static constexpr unsigned kBoundsShift = 2;  ///< words of line 0 before the bounds
  static constexpr std::uint64_t kUnusedHead = ~std::uint64_t{0};

  /// Whether an entry with this head would tie with a neighbour: in its block, or across a block's fence.
  [[nodiscard]] bool may_tie(bool leaf, Position at, unsigned count, std::uint64_t head) const noexcept {
    const Word* heads = line(leaf, at.block, 0);
    bool ties = (at.slot > 0 && load_head(heads[at.slot - 1U]) == head) ||
                (at.slot < count && load_head(heads[at.slot]) == head);
    for (unsigned j = 0; j < kHighBound; ++j) {
      ties |= fence(j) == head;
    }
    return ties;
  }
  struct Entry {
    std::uint64_t rank;
    std::uint64_t value;
    std::uint64_t separator;
  };
  [[nodiscard]] Entry entry(bool leaf, unsigned block, unsigned slot) const noexcept;
  /// Puts an entry into a block, which loses its last or first one.
  template <line_insert::drops kWhich>
  [[gnu::always_inline]] void put(bool leaf, unsigned block, unsigned slot, const Entry& entry) noexcept {
    line_insert::put<kWhich>(line(leaf, block, 0), slot, entry.rank);
    line_insert::put<kWhich>(line(leaf, block, 1), slot, entry.value);
    if (Shape::lines_per_block(leaf) == 3) {
      line_insert::put<kWhich>(line(leaf, block, 2), slot, entry.separator);
    }
  }
  [[nodiscard]] NodeMeta hand_on(NodeMeta before, Position at, Entry carried) noexcept;
  [[nodiscard]] NodeMeta open_for(NodeMeta before, const Entry& entry) noexcept;
  void halve(const Node& from, bool leaf, unsigned block, unsigned to) noexcept;
  void set_halves(unsigned blocks, bool ties) noexcept;

  void pad(bool leaf, unsigned block, unsigned from) noexcept {
    for (unsigned slot = from; slot < NodeMeta::kMaxSlots; ++slot) {
      store_rank(line(leaf, block, 0)[slot], kUnusedHead);
    }
  }
  void store_entry(bool leaf, unsigned block, unsigned slot, std::uint64_t head, std::uint64_t value,
                   std::uint64_t separator) noexcept {
    store_rank(line(leaf, block, 0)[slot], head);
    line(leaf, block, 1)[slot].store(value);
    if (Shape::lines_per_block(leaf) == 3) {
      line(leaf, block, 2)[slot].store(separator);
    }
  }
  void copy_entry(bool leaf, unsigned block, unsigned from, unsigned to) noexcept {
    store_entry(leaf, block, to, load_head(line(leaf, block, 0)[from]), line(leaf, block, 1)[from].load(),
                Shape::lines_per_block(leaf) == 3 ? line(leaf, block, 2)[from].load() : 0);
  }

  Word bounds_[NodeMeta::kMaxBlocks];  ///< fences of blocks 1..5, head of the high fence
  Word right_;
  Word low_;
  Word high_;
  Word order_floor_;  ///< and the due above it
  NodeLife life_;
  Word prefix_[3];
  Word words_[(kLines - kHeaderLines) * 8];
};

static_assert(sizeof(Node<NodeShape<6, 6, 8, false>>) == 14 * runtime::kCacheLineBytes);
static_assert(sizeof(Node<NodeShape<6, 4, 8, true>>) == 14 * runtime::kCacheLineBytes);

}  // namespace mxkv::index

#include "index/node_insert.hpp"

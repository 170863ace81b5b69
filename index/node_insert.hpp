// How a node makes room: a full block hands one entry on to its neighbour, and so on to the nearest block with room;
// and a node that is full everywhere gives half of its blocks away. Members of Node, apart from node.hpp.
//
// So a random insert changes the lines of one block, or of a few, and the whole node only when it is split; nodes
// are split when they are full. Lines are moved by vectors (line_insert.hpp).
#pragma once

#include "index/node.hpp"

namespace mxkv::index {

template <class Shape>
unsigned Node<Shape>::room_beside(NodeMeta meta, unsigned block) noexcept {
  const unsigned blocks = meta.blocks();
  for (unsigned far = 1; far < blocks; ++far) {
    const unsigned up = block + far < blocks ? meta.count(block + far) : Shape::kSlots;
    const unsigned down = far <= block ? meta.count(block - far) : Shape::kSlots;
    if (std::min(up, down) < Shape::kSlots) {
      return up <= down ? block + far : block - far;
    }
  }
  return block;
}

template <class Shape>
void Node<Shape>::prefetch_beside(unsigned block, unsigned to, bool leaf) const noexcept {
  const unsigned first = to == block ? 1 : first_line_of(to > block ? block + 1 : to, leaf);
  const unsigned last = to == block ? kLines : first_line_of(to > block ? to + 1 : block, leaf);
  runtime::prefetch_lines(reinterpret_cast<const std::byte*>(this) + first * runtime::kCacheLineBytes,
                          last - first);
}

template <class Shape>
auto Node<Shape>::entry(bool leaf, unsigned block, unsigned slot) const noexcept -> Entry {
  return {line(leaf, block, 0)[slot].load(), line(leaf, block, 1)[slot].load(),
          Shape::lines_per_block(leaf) == 3 ? line(leaf, block, 2)[slot].load() : 0};
}

/// Puts an entry behind all others into a new block. Returns the meta word thereafter.
template <class Shape>
NodeMeta Node<Shape>::open_for(NodeMeta before, const Entry& entry) noexcept {
  const bool is_leaf = before.level() == 0;
  const unsigned block = before.blocks();
  MXKV_ASSERT(block < Shape::blocks(is_leaf), "a node has a block left to open");
  bounds_[block - 1].store(entry.rank);
  store_entry(is_leaf, block, 0, head_of_rank(entry.rank), entry.value, entry.separator);
  pad(is_leaf, block, 1);
  return before.with_blocks(block + 1).with_count(block, 1);
}

/// Takes in an entry whose block is full. Returns the meta word thereafter.
template <class Shape>
[[gnu::noinline]] NodeMeta Node<Shape>::hand_on(NodeMeta before, Position at, Entry carried) noexcept {
  const bool is_leaf = before.level() == 0;
  const unsigned to = room_beside(before, at.block);
  unsigned slot = at.slot;
  if (to == at.block) {
    MXKV_ASSERT(can_open_block(before, at), "a node takes in an entry where it has room");
    return open_for(before, carried);
  }
  for (unsigned block = at.block; block < to; ++block, slot = 0) {
    if (slot < Shape::kSlots) {
      const Entry last = entry(is_leaf, block, Shape::kSlots - 1);
      put<line_insert::drops::last>(is_leaf, block, slot, carried);
      pad(is_leaf, block, Shape::kSlots);
      carried = last;
    }
    bounds_[block].store(carried.rank);
  }
  for (unsigned block = at.block; block > to; --block, slot = Shape::kSlots) {
    if (slot > 0) {
      const Entry first = entry(is_leaf, block, 0);
      put<line_insert::drops::first>(is_leaf, block, slot - 1, carried);
      carried = first;
    }
    bounds_[block - 1].store(line(is_leaf, block, 0)[0].load());
  }
  put<line_insert::drops::last>(is_leaf, to, to < at.block ? before.count(to) : 0, carried);
  return before.with_one_more(to);
}

/// Divides a full block of `from` among two blocks of this node.
template <class Shape>
void Node<Shape>::halve(const Node& from, bool leaf, unsigned block, unsigned to) noexcept {
  constexpr auto kUnusedRank = static_cast<std::uint64_t>(kGreatestRank);
  for (unsigned row = 0; row < Shape::lines_per_block(leaf); ++row) {
    line_insert::halve(from.line(leaf, block, row), Shape::kSlots, line(leaf, to, row),
                       line(leaf, to + 1, row), row == 0 ? kUnusedRank : 0);
  }
}

template <class Shape>
void Node<Shape>::store_bound(Position at, std::uint64_t head, std::uint64_t separator) noexcept {
  const NodeMeta before = meta();
  MXKV_ASSERT(before.level() > 0 && at.block + at.slot > 0, "a first child's bound is its parent's");
  MXKV_ASSERT(at.block < before.blocks() && at.slot < before.count(at.block), "an entry is there");
  const Word* const heads = line(false, at.block, 0);
  bool ties = before.ties();
  if (Shape::kMayTie) {
    ties = ties || (at.slot > 0 && load_head(heads[at.slot - 1U]) == head) ||
           (at.slot + 1U < before.count(at.block) && load_head(heads[at.slot + 1U]) == head);
    for (unsigned block = 1; block < before.blocks(); ++block) {
      ties = ties || (fence(block - 1) == head && (block != at.block || at.slot > 0));
    }
  }
  store_rank(line(false, at.block, 0)[at.slot], head);
  if (Shape::lines_per_block(false) == 3) {
    line(false, at.block, 2)[at.slot].store(separator);
  }
  if (at.slot == 0) {
    store_rank(bounds_[at.block - 1], head);
  }
  store_meta(before.with_ties(ties));
}

template <class Shape>
void Node<Shape>::lay_out_run(const std::uint64_t* ranks, const std::uint64_t* values, unsigned count,
                              unsigned most_blocks, bool may_tie) noexcept {
  constexpr auto kUnusedRank = static_cast<std::uint64_t>(kGreatestRank);
  const unsigned blocks = std::clamp(count, 1U, most_blocks);
  MXKV_ASSERT(leaf() && count <= blocks * Shape::kSlots, "entries of a run fit into the leaf");
  bool ties = false;
  for (unsigned i = 1; Shape::kMayTie && may_tie && i < count; ++i) {
    ties |= ranks[i - 1] == ranks[i];
  }
  const unsigned each = count / blocks;
  const unsigned more = count % blocks;  // blocks with one more
  std::uint64_t counts = 0;
  unsigned next = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned here = each + (block < more ? 1 : 0);
    counts |= std::uint64_t{here} << (4 * block);
    if (block > 0) {
      bounds_[block - 1].store(ranks[next]);
    }
    line_insert::fill(line(true, block, 0), ranks + next, values + next, here, kUnusedRank);
    next += here;
  }
  for (unsigned block = blocks; block < NodeMeta::kMaxBlocks; ++block) {
    bounds_[block - 1].store(kUnusedRank);
    if (block < Shape::blocks(true)) {
      pad(true, block, 0);
    }
  }
  store_meta(meta().with_blocks(blocks).with_counts(counts).with_ties(ties));
}

template <class Shape>
void Node<Shape>::take_upper_half(const Node& from, unsigned blocks) noexcept {
  const bool is_leaf = leaf();
  for (unsigned block = blocks / 2; block < blocks; ++block) {
    halve(from, is_leaf, block, block * 2 - blocks);
  }
  set_halves(blocks, from.meta().ties());
}

template <class Shape>
void Node<Shape>::keep_lower_half(unsigned blocks) noexcept {
  const bool is_leaf = leaf();
  for (unsigned block = blocks / 2; block-- > 0;) {  // from the last: none is overwritten before it is read
    halve(*this, is_leaf, block, block * 2);
  }
  set_halves(blocks, meta().ties());
}

template <class Shape>
void Node<Shape>::set_halves(unsigned blocks, bool ties) noexcept {
  const bool is_leaf = leaf();
  NodeMeta changed = meta().with_blocks(blocks).with_ties(ties);
  for (unsigned block = 0; block < blocks; ++block) {
    changed = changed.with_count(block, Shape::kSlots / 2);
    if (block > 0) {
      bounds_[block - 1].store(line(is_leaf, block, 0)[0].load());
    }
  }
  store_meta(changed);
}

}  // namespace mxkv::index

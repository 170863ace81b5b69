// Types that describe a node from outside: its shape, a place in it, and its entries copied out.
#pragma once

#include <array>
#include <cstdint>

#include "index/node_meta.hpp"

namespace mxkv::index {

/// Where an entry is, or would be inserted.
struct Position {
  std::uint8_t block = 0;
  std::uint8_t slot = 0;
};

/// All entries of a node, copied out: for redistribution and splits.
struct Entries {
  static constexpr unsigned kMax = NodeMeta::kMaxBlocks * NodeMeta::kMaxSlots + 1;
  std::array<std::uint64_t, kMax> heads;
  std::array<std::uint64_t, kMax> values;
  std::array<std::uint64_t, kMax> separators;  ///< inner nodes of byte keys only
  unsigned count = 0;

  /// The least key that an inner node's child may hold; not for the first child. A separator may be read once
  /// the node's version held.
  template <class Traits>
  [[nodiscard]] auto bound(unsigned child) const noexcept {
    if constexpr (Traits::kExact) {
      return heads[child];
    } else {
      return Traits::fence_key(separators[child]);
    }
  }

  void insert(unsigned rank, std::uint64_t head, std::uint64_t value, std::uint64_t separator) noexcept {
    MXKV_DCHECK(rank <= count && count < kMax, "there is room for one more entry");
    for (unsigned i = count; i > rank; --i) {
      heads[i] = heads[i - 1];
      values[i] = values[i - 1];
      separators[i] = separators[i - 1];
    }
    heads[rank] = head;
    values[rank] = value;
    separators[rank] = separator;
    ++count;
  }
  void erase(unsigned rank) noexcept {
    MXKV_DCHECK(rank < count, "an entry that goes is there");
    for (unsigned i = rank + 1; i < count; ++i) {
      heads[i - 1] = heads[i];
      values[i - 1] = values[i];
      separators[i - 1] = separators[i];
    }
    --count;
  }
};

/// Shape constants of a tree; tests use tiny ones so that few keys split all levels.
template <unsigned LeafBlocks, unsigned InnerBlocks, unsigned Slots, bool InnerSeparators>
struct NodeShape {
  static_assert(LeafBlocks <= NodeMeta::kMaxBlocks && InnerBlocks <= NodeMeta::kMaxBlocks &&
                Slots <= NodeMeta::kMaxSlots);
  static_assert(LeafBlocks >= 2 && InnerBlocks >= 2 && Slots >= 2, "a split leaves entries on both sides");
  static constexpr unsigned kSlots = Slots;
  static constexpr bool kMayTie = InnerSeparators;  ///< whether heads are of byte keys
  static constexpr unsigned blocks(bool leaf) noexcept { return leaf ? LeafBlocks : InnerBlocks; }
  static constexpr unsigned lines_per_block(bool leaf) noexcept { return !leaf && InnerSeparators ? 3 : 2; }
  static constexpr unsigned capacity(bool leaf) noexcept { return blocks(leaf) * Slots; }
  /// More entries than this split the node rather than spread over its blocks anew: a spread that leaves
  /// little room would soon be repeated.
  static constexpr unsigned split_above(bool leaf) noexcept {
    return capacity(leaf) - (capacity(leaf) < 16 ? 1 : capacity(leaf) / 16);
  }
  /// An inner node with at most so many entries takes over its right neighbour's last child: with more, it
  /// would soon split again.
  static constexpr unsigned kFoldUpTo = InnerBlocks * Slots / 2;
};

}  // namespace mxkv::index

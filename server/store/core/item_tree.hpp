// The tree of items: how the index sees an item, and the tree's types. item_tree.cpp instantiates its machinery, once
// for all.
#pragma once

#include <cstdint>
#include <string_view>

#include "index/instantiate.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// How the index sees items: a leaf's value word is the item's address, with the number of cache lines that a
/// reader will touch in the upper 16 bits.
struct ItemRecord {
  /// The hardware prefetches lines beyond this.
  static constexpr std::uint64_t kMaxLines = 16;

  [[nodiscard]] static std::uint64_t word(const Item* item) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(item);
    MXKV_DCHECK(address >> 48U == 0, "the upper bits of an address are free for lines");
    const std::uint64_t lines =
        (address % runtime::kCacheLineBytes + item->block_bytes() + runtime::kCacheLineBytes - 1) /
        runtime::kCacheLineBytes;
    return address | ((lines < kMaxLines ? lines : kMaxLines) << 48U);
  }
  [[nodiscard]] static Item* item(std::uint64_t word) noexcept {
    return reinterpret_cast<Item*>(word & ((std::uint64_t{1} << 48U) - 1));
  }
  [[nodiscard]] static std::string_view key(std::uint64_t word) noexcept {
    const Item::View view{*item(word)};
    return view.plain() ? view.plain_key() : view.key();
  }
  /// The line-aligned address to prefetch from.
  [[nodiscard]] static const void* address(std::uint64_t word) noexcept {
    return reinterpret_cast<const void*>(word & ((std::uint64_t{1} << 48U) - runtime::kCacheLineBytes));
  }
  [[nodiscard]] static unsigned lines(std::uint64_t word) noexcept {
    return static_cast<unsigned>(word >> 48U);
  }
  /// As lines(), but only up to the end of a key of this length.
  [[nodiscard]] static unsigned key_lines(std::uint64_t word, std::size_t key_bytes) noexcept {
    const std::uint64_t end = word % runtime::kCacheLineBytes + Item::kMostBeforeKey + key_bytes;
    return static_cast<unsigned>((end + runtime::kCacheLineBytes - 1) / runtime::kCacheLineBytes);
  }
  /// Frees an item of a tree that is being taken apart.
  static void release(runtime::Worker& worker, std::uint64_t word) noexcept;
  // These two count the parts of cleared trees that are being taken apart: StoreState::tears_down().
  static void teardown_begins(runtime::Worker& worker) noexcept;
  static void teardown_ends(runtime::Worker& worker) noexcept;
};

/// The store's nodes have optimistic latches; leaves may adapt.
struct ItemTraits : index::ByteTraits<ItemRecord> {
  static constexpr bool kLatchedNodes = true;
};
using ItemTree = index::Tree<ItemTraits>;
using ItemNode = ItemTree::NodeT;

}  // namespace mxkv::server

MXKV_INSTANTIATE_TREE(extern, mxkv::server::ItemTraits);

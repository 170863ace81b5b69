// An item: key, value and what memcached keeps with them, in one block of the item heap.
//
//   0        8          12              16        20         24
//   +--------+----------+---------------+---------+----------+-----+---------------------------------+
//   | cas    | state    | key | value   | [flags] | [expiry] | key | value, or pointer to ChunkList  |
//   | u64    | atomic   | u8  | u24     | u32     | atomic   |     | (8-byte aligned)                |
//   +--------+----------+---------------+---------+----------+-----+---------------------------------+
//
// Flags and expiry are there only if the state says so: most items have neither. Key, value and cas never
// change once the item is in the tree: an update swaps the leaf's pointer. The expiry may be changed under
// the leaf's latch (touch). Architecture section 5.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/scheduler/worker.hpp"
#include "server/store/chunk_list.hpp"

namespace mxkv::server {

/// Longest value that sits in the item itself.
inline constexpr std::size_t kInlineValueBytes = 8192;

class Item {
 public:
  static constexpr std::size_t kMostBeforeKey = 24;

  /// What an item to be made looks like.
  struct Shape {
    std::string_view key;
    std::uint64_t value_bytes = 0;
    std::uint32_t flags = 0;
    std::uint32_t expiry = 0;   ///< unix seconds; 0: never
    bool expiry_field = false;  ///< make room for an expiry even if it is 0
    [[nodiscard]] bool large() const noexcept { return value_bytes > kInlineValueBytes; }
  };

  /// Makes an item whose value is still to be filled in; null: out of memory. A large one has no list yet.
  [[nodiscard]] static Item* create(runtime::Worker& worker, const Shape& shape) noexcept;
  /// Frees an item that is in no tree, with its reference on a large value. Any worker.
  static void destroy(runtime::Worker& worker, Item* item) noexcept;

  [[nodiscard]] std::uint64_t cas() const noexcept { return cas_; }
  void set_cas(std::uint64_t cas) noexcept { cas_ = cas; }

  [[nodiscard]] std::string_view key() const noexcept { return {bytes() + key_offset(), key_bytes()}; }
  [[nodiscard]] std::uint32_t flags() const noexcept { return has(kHasFlags) ? load32(kOptionalOffset) : 0; }
  [[nodiscard]] bool has_expiry_field() const noexcept { return has(kHasExpiry); }
  /// Unix seconds; 0: never. Relaxed: a touch may change it at any time.
  [[nodiscard]] std::uint32_t expiry() const noexcept {
    return has(kHasExpiry) ? expiry_word().load(std::memory_order_relaxed) : 0;
  }
  /// Under the leaf's latch; the item must have the field.
  void store_expiry(std::uint32_t seconds) noexcept {
    expiry_word().store(seconds, std::memory_order_relaxed);
  }

  [[nodiscard]] bool large() const noexcept { return has(kLarge); }
  [[nodiscard]] std::uint64_t value_bytes() const noexcept {
    return large() ? list()->bytes() : lengths_ >> 8U;
  }
  /// The value of an item that is not large.
  [[nodiscard]] std::string_view value() const noexcept { return {bytes() + value_offset(), lengths_ >> 8U}; }
  [[nodiscard]] char* value_begin() noexcept { return reinterpret_cast<char*>(this) + value_offset(); }
  /// The value of a large item; null while it is being built.
  [[nodiscard]] ChunkList* list() const noexcept {
    ChunkList* list = nullptr;
    std::memcpy(&list, bytes() + value_offset(), sizeof list);
    return list;
  }
  void set_list(ChunkList* list) noexcept { std::memcpy(value_begin(), &list, sizeof list); }

  /// Bytes of the item's own block.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return value_offset() + (large() ? sizeof(ChunkList*) : lengths_ >> 8U);
  }
  /// Bytes of memory that go when the item goes.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return block_bytes() + (large() && list() != nullptr ? list()->memory_bytes() : 0);
  }

 private:
  static constexpr std::uint32_t kHasFlags = 1U << 0U;
  static constexpr std::uint32_t kHasExpiry = 1U << 1U;
  static constexpr std::uint32_t kLarge = 1U << 2U;
  static constexpr std::size_t kOptionalOffset = 16;

  Item(const Shape& shape, std::uint32_t state) noexcept;

  [[nodiscard]] const char* bytes() const noexcept { return reinterpret_cast<const char*>(this); }
  [[nodiscard]] bool has(std::uint32_t bit) const noexcept {
    return (state_.load(std::memory_order_relaxed) & bit) != 0;
  }
  [[nodiscard]] std::size_t key_bytes() const noexcept { return lengths_ & 0xFFU; }
  [[nodiscard]] std::size_t expiry_offset() const noexcept {
    return kOptionalOffset + (has(kHasFlags) ? 4U : 0U);
  }
  [[nodiscard]] std::size_t key_offset() const noexcept {
    return expiry_offset() + (has(kHasExpiry) ? 4U : 0U);
  }
  [[nodiscard]] std::size_t value_offset() const noexcept {
    const std::size_t end = key_offset() + key_bytes();
    return large() ? (end + 7) & ~std::size_t{7} : end;
  }
  [[nodiscard]] std::uint32_t load32(std::size_t offset) const noexcept {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes() + offset, sizeof word);
    return word;
  }
  [[nodiscard]] std::atomic<std::uint32_t>& expiry_word() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(const_cast<char*>(bytes()) + expiry_offset());
  }

  std::uint64_t cas_ = 0;
  std::atomic<std::uint32_t> state_;
  std::uint32_t lengths_;  ///< key bytes in the low byte, inline value bytes above
};
static_assert(sizeof(Item) == 16);

/// What the index knows of items: a leaf's value word is the item's address, with the number of cache lines
/// that a reader will touch in the upper 16 bits.
struct ItemRecord {
  /// Lines beyond this are left to the hardware's own prefetching.
  static constexpr std::uint64_t kMaxLines = 16;

  [[nodiscard]] static std::uint64_t word(const Item* item) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(item);
    const std::uint64_t lines =
        (address % runtime::kCacheLineBytes + item->block_bytes() + runtime::kCacheLineBytes - 1) /
        runtime::kCacheLineBytes;
    return address | ((lines < kMaxLines ? lines : kMaxLines) << 48U);
  }
  [[nodiscard]] static Item* item(std::uint64_t word) noexcept {
    return reinterpret_cast<Item*>(word & ((std::uint64_t{1} << 48U) - 1));
  }
  [[nodiscard]] static std::string_view key(std::uint64_t word) noexcept { return item(word)->key(); }
  /// The line-aligned address to prefetch from.
  [[nodiscard]] static const void* address(std::uint64_t word) noexcept {
    return reinterpret_cast<const void*>(word & ((std::uint64_t{1} << 48U) - runtime::kCacheLineBytes));
  }
  [[nodiscard]] static unsigned lines(std::uint64_t word) noexcept {
    return static_cast<unsigned>(word >> 48U);
  }
  /// As lines(), of the part up to the end of a key of this length.
  [[nodiscard]] static unsigned key_lines(std::uint64_t word, std::size_t key_bytes) noexcept {
    const std::uint64_t end = word % runtime::kCacheLineBytes + Item::kMostBeforeKey + key_bytes;
    return static_cast<unsigned>((end + runtime::kCacheLineBytes - 1) / runtime::kCacheLineBytes);
  }
  /// Frees an item of a tree that is being taken apart.
  static void release(runtime::Worker& worker, std::uint64_t word) noexcept;
};

}  // namespace mxkv::server

// An item: key, value and what memcached keeps with them, in one block of the item heap.
//
//   0        8                               12        16         20
//   +--------+-------------------------------+---------+----------+-----+---------------------------------+
//   | cas    | lengths and state             | [flags] | [expiry] | key | value, or pointer to ChunkList  |
//   | u64    | key u8, value u14, state u10  | u32     | atomic   |     | (8-byte aligned)                |
//   +--------+-------------------------------+---------+----------+-----+---------------------------------+
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
  static constexpr std::size_t kMostBeforeKey = 20;

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

  [[nodiscard]] std::uint64_t cas() const noexcept {
    std::uint64_t cas = 0;
    std::memcpy(&cas, cas_, sizeof cas);
    return cas;
  }
  void set_cas(std::uint64_t cas) noexcept { std::memcpy(cas_, &cas, sizeof cas); }

  [[nodiscard]] std::string_view key() const noexcept {
    const Word word = this->word();
    return {bytes() + key_offset(word), key_bytes(word)};
  }
  [[nodiscard]] std::uint32_t flags() const noexcept {
    return has(word(), kHasFlags) ? load32(kOptionalOffset) : 0;
  }
  [[nodiscard]] bool has_expiry_field() const noexcept { return has(word(), kHasExpiry); }
  /// Unix seconds; 0: never. Relaxed: a touch may change it at any time.
  [[nodiscard]] std::uint32_t expiry() const noexcept {
    return has_expiry_field() ? expiry_word().load(std::memory_order_relaxed) : 0;
  }
  /// Under the leaf's latch; the item must have the field.
  void store_expiry(std::uint32_t seconds) noexcept {
    expiry_word().store(seconds, std::memory_order_relaxed);
  }

  [[nodiscard]] bool large() const noexcept { return has(word(), kLarge); }
  [[nodiscard]] std::uint64_t value_bytes() const noexcept {
    return large() ? list()->bytes() : inline_bytes(word());
  }
  /// The value of an item that is not large.
  [[nodiscard]] std::string_view value() const noexcept {
    const Word word = this->word();
    return {bytes() + value_offset(word), inline_bytes(word)};
  }
  [[nodiscard]] char* value_begin() noexcept { return reinterpret_cast<char*>(this) + value_offset(word()); }
  /// The value of a large item; null while it is being built.
  [[nodiscard]] ChunkList* list() const noexcept {
    ChunkList* list = nullptr;
    std::memcpy(&list, bytes() + value_offset(word()), sizeof list);
    return list;
  }
  void set_list(ChunkList* list) noexcept { std::memcpy(value_begin(), &list, sizeof list); }

  /// Bytes of the item's own block.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    const Word word = this->word();
    return value_offset(word) + (has(word, kLarge) ? sizeof(ChunkList*) : inline_bytes(word));
  }
  /// Bytes of memory that go when the item goes.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return block_bytes() + (large() && list() != nullptr ? list()->memory_bytes() : 0);
  }

 private:
  /// Lengths and state, as loaded.
  using Word = std::uint32_t;
  static constexpr unsigned kValueShift = 8;
  static constexpr unsigned kStateShift = 22;
  static constexpr Word kHasFlags = Word{1} << kStateShift;
  static constexpr Word kHasExpiry = Word{2} << kStateShift;
  static constexpr Word kLarge = Word{4} << kStateShift;
  static constexpr std::size_t kOptionalOffset = 12;
  static_assert(kInlineValueBytes < 1U << (kStateShift - kValueShift));

  Item(const Shape& shape, Word state) noexcept;

  [[nodiscard]] const char* bytes() const noexcept { return reinterpret_cast<const char*>(this); }
  [[nodiscard]] Word word() const noexcept { return word_.load(std::memory_order_relaxed); }
  [[nodiscard]] static bool has(Word word, Word bit) noexcept { return (word & bit) != 0; }
  [[nodiscard]] static std::size_t key_bytes(Word word) noexcept { return word & 0xFFU; }
  [[nodiscard]] static std::size_t inline_bytes(Word word) noexcept {
    return (word >> kValueShift) & ((1U << (kStateShift - kValueShift)) - 1);
  }
  [[nodiscard]] static std::size_t expiry_offset(Word word) noexcept {
    return kOptionalOffset + (has(word, kHasFlags) ? 4U : 0U);
  }
  [[nodiscard]] static std::size_t key_offset(Word word) noexcept {
    return expiry_offset(word) + (has(word, kHasExpiry) ? 4U : 0U);
  }
  [[nodiscard]] static std::size_t value_offset(Word word) noexcept {
    const std::size_t end = key_offset(word) + key_bytes(word);
    return has(word, kLarge) ? (end + 7) & ~std::size_t{7} : end;
  }
  [[nodiscard]] std::uint32_t load32(std::size_t offset) const noexcept {
    std::uint32_t loaded = 0;
    std::memcpy(&loaded, bytes() + offset, sizeof loaded);
    return loaded;
  }
  [[nodiscard]] std::atomic<std::uint32_t>& expiry_word() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(const_cast<char*>(bytes()) + expiry_offset(word()));
  }

  std::uint32_t cas_[2]{};  ///< a u64, so that the header has no padding
  std::atomic<Word> word_;
};
static_assert(sizeof(Item) == 12);

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

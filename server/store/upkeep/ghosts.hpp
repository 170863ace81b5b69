// Ghosts: fingerprints of items that eviction removed. An item that comes back while its fingerprint is known
// was removed too early, so it begins as one that was read twice.
//
//   hash of the key:  upper 16 bits: fingerprint, never 0
//                     lower bits:    bucket of eight fingerprints, the newest first
//
//        0    1    2    3    4    5    6    7
//     +----+----+----+----+----+----+----+----+
//     | f  | f  | f  | f  | f  | 0  | 0  | 0  |    two words of 64 bits
//     +----+----+----+----+----+----+----+----+
//
// Evictions write the table, and inserts of absent keys read it: gets and overwrites never touch it. A
// fingerprint takes two bytes, and the table has room for one to two ghosts an item. Of two buckets that two
// workers change at once, words may be lost or mixed: that costs some ghosts and harms nothing.
//
// The table lies in one reservation, and its size is a power of two. When it grows or shrinks, half of the
// fingerprints stay where a search finds them. The others leave with time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "index/key.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/relaxed_word.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/page_range.hpp"

namespace mxkv::server {

/// Thread-safety: any thread, except construction and destruction.
class Ghosts {
 public:
  /// Reserves addresses for twice the limit, and no memory. Throws std::system_error.
  explicit Ghosts(runtime::MemoryBudget& budget);
  ~Ghosts();
  Ghosts(const Ghosts&) = delete;
  Ghosts& operator=(const Ghosts&) = delete;

  [[nodiscard]] static std::uint64_t hash_of(std::string_view key) noexcept {
    __extension__ using Wide = unsigned __int128;
    std::uint64_t hash = key.size();
    for (std::size_t offset = 0; offset < key.size(); offset += 8) {
      const Wide product = Wide{hash ^ index::head_of(key, offset)} * 0x9E3779B97F4A7C15U;
      hash = static_cast<std::uint64_t>(product >> 64U) ^ static_cast<std::uint64_t>(product);
    }
    // A product of small factors has few upper bits.
    hash *= 0xD1B54A32D192ED03U;
    return hash ^ hash >> 32U;
  }

  /// Whether there may be ghosts at all: not before memory became short.
  [[nodiscard]] bool any() const noexcept { return buckets_.load(std::memory_order_relaxed) != 0; }
  /// Prefetches what add() and take() of this hash use.
  void prefetch(std::uint64_t hash) const noexcept {
    if (const Bucket* const bucket = bucket_of(hash); bucket != nullptr) {
      runtime::prefetch_read(bucket);
    }
  }
  /// An item with a key of this hash was evicted.
  void add(std::uint64_t hash) noexcept;
  /// Whether an item with a key of this hash was evicted lately. The ghost is gone then.
  [[nodiscard]] bool take(std::uint64_t hash) noexcept;

  /// Makes room for about as many ghosts as there are items, but never more than a part of the limit. None: gives the
  /// memory back.
  void fit(std::uint64_t items) noexcept;
  /// Forgets all ghosts: behind a flush items that were kept come anew, too, and those that were evicted must
  /// not begin as the better ones.
  void clear() noexcept;
  /// Bytes of the table.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return buckets_.load(std::memory_order_relaxed) * sizeof(Bucket);
  }
  /// Bytes of addresses that a store with this limit reserves.
  [[nodiscard]] static std::size_t reserved_bytes(std::size_t limit_bytes) noexcept;

 private:
  static constexpr std::size_t kInBucket = 8;
  struct alignas(16) Bucket {
    runtime::RelaxedWord newer;
    runtime::RelaxedWord older;
  };
  static_assert(sizeof(Bucket) == kInBucket * sizeof(std::uint16_t));

  [[nodiscard]] Bucket* bucket_of(std::uint64_t hash) const noexcept {
    const std::uint64_t buckets = buckets_.load(std::memory_order_relaxed);
    return buckets == 0 ? nullptr : table_ + (hash & (buckets - 1));
  }
  [[nodiscard]] std::uint64_t wanted(std::uint64_t items) const noexcept;

  runtime::MemoryBudget& budget_;
  runtime::PageRange range_;
  Bucket* table_ = nullptr;
  std::atomic<std::uint64_t> buckets_{
      0};                          ///< 0, or a power of two; relaxed: any number of the reservation's will do
  std::atomic<bool> fits_{false};  ///< a thread changes their number
};

}  // namespace mxkv::server

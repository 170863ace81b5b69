// The superblocks of one NUMA node [LAS 5.2], given out in spans.
//
// Superblocks with the fewest free spans serve first, so that others become wholly free; among equals, and
// among the spans of one, the one released last goes first, since its lines and its page are the nearest. The
// wholly free superblocks are the paper's LIFO cache. The few released last keep their pages; the pages of
// the others go back to the system. Free spans may be scattered over superblocks in use. Above the cache and
// a small part of the used ones, their pages go back as well, though that cuts up a huge page. A run of
// several spans, for a large block, lies within one superblock. Spans change class, worker and (never) node
// here.
//
// The latch is taken once per 64 KiB; a lock-free stack would save nothing and could not find runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/page_range.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/memory/span.hpp"

namespace mxkv::runtime::detail {

/// Data and its tables, shared by the pools of all nodes. Immutable after construction.
struct SpanTables {
  std::byte* data = nullptr;
  Span* spans = nullptr;
  Superblock* superblocks = nullptr;

  [[nodiscard]] std::size_t span_index(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - data) / kSpanBytes;
  }
};

/// Thread-safety: any thread.
class alignas(kCacheLineBytes) SuperblockPool {
 public:
  SuperblockPool(PageRange& range, const SpanTables& tables, NumaNodeId node) noexcept
      : range_(&range), tables_(&tables), node_(node) {}
  SuperblockPool(const SuperblockPool&) = delete;
  SuperblockPool& operator=(const SuperblockPool&) = delete;

  /// A span header with `base` and `span_count` set, the rest as by default; nullptr when the range is used
  /// up. `count` neighbouring spans, 1 to kSpansPerSuperblock. Contents of the pages are undefined.
  [[nodiscard]] Span* acquire(std::uint32_t count) noexcept;
  /// Takes back a span that acquire() gave, of this node.
  void release(Span* span) noexcept;

  /// Bytes of spans given out.
  [[nodiscard]] std::size_t span_bytes() const noexcept {
    return span_bytes_.load(std::memory_order_relaxed);
  }
  /// Bytes of free spans that may have pages, an upper bound: resident, but not charged. At most
  /// kKeptSuperblocks and about one part in kSparePart of span_bytes(), as it was at the last release above.
  [[nodiscard]] std::size_t pooled_bytes() const noexcept {
    return pooled_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kCleanList = kSpansPerSuperblock + 1;
  static constexpr std::uint32_t kLists = kCleanList + 1;
  static constexpr std::uint32_t kKeptSuperblocks = 4;  ///< wholly free superblocks whose pages are kept
  static constexpr std::uint32_t kArenaSuperblocks = 4;
  static constexpr std::size_t kSparePart = 32;

  struct Run {
    Superblock* superblock = nullptr;
    std::uint32_t first = 0;
  };
  [[nodiscard]] Run find_run(std::uint32_t count) noexcept;
  [[nodiscard]] Superblock* oldest_free() const noexcept;
  [[nodiscard]] bool spares_too_much() const noexcept;
  [[nodiscard]] bool grow() noexcept;
  void enlist(Superblock* superblock) noexcept;
  void delist(Superblock* superblock) noexcept;
  void make_clean(Superblock* superblock, std::uint32_t mask) noexcept;
  static void add(std::atomic<std::size_t>& sum, std::size_t bytes) noexcept;

  PageRange* range_;
  const SpanTables* tables_;
  NumaNodeId node_;
  ShortLatch latch_;  ///< guards the lists, the superblocks of this node, and writes to the two sums
  std::array<LinkedList<Superblock>, kLists> lists_{};  ///< by number of free spans; the last: clean ones
  std::uint64_t nonempty_ = 0;                          ///< bit i: lists_[i] is not empty
  std::uint32_t kept_ = 0;                              ///< superblocks in lists_[kSpansPerSuperblock]
  std::atomic<std::size_t> span_bytes_{0};              // relaxed: statistics
  std::atomic<std::size_t> pooled_bytes_{0};            // relaxed: statistics
};

}  // namespace mxkv::runtime::detail

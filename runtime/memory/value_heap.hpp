// Items, chunks and index nodes of one worker: size classes in spans of superblocks [LAS 5].
//
// A class allocates from its current span: the block released last, else the next one never used. When the
// current span is exhausted, the fullest of the worker's other spans follows, so that sparse spans run empty;
// an empty span goes back to the node's pool at once and may change class and worker there.
//
// A block released on its span's worker goes to the span's free list. A block of another worker's span goes
// to that worker's recollection bin, a batch of kForeignBatch at a time; the owner collects when a class runs
// out, when it is woken (BinOwners), or when it calls collect(). So a worker calls flush_foreign() before it
// parks, else blocks of others lie around here.
//
// A dead block is in no worker's cache. So the blocks of a batch are not linked one to the next: one of them
// holds the addresses of as many others as fit, and the owner prefetches all of these at once.
//
// It does not move blocks, and it does not take partly used spans from idle workers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/poison.hpp"
#include "runtime/memory/recollection_bin.hpp"
#include "runtime/memory/size_classes.hpp"
#include "runtime/memory/span.hpp"
#include "runtime/memory/value_space.hpp"

namespace mxkv::runtime {

/// Largest block: one superblock. Greater values are lists of chunks.
inline constexpr std::size_t kLargestValueBytes = detail::kSuperblockBytes;

/// One size class of one heap. Blocks on their way home count as live until they are collected.
struct ValueClassStats {
  std::size_t block_bytes = 0;
  std::size_t live_blocks = 0;
  std::size_t spans = 0;
};

/// One heap in sum; sum over heaps for totals. Large blocks are in ValueSpace::span_bytes() only.
struct ValueHeapStats {
  std::size_t live_bytes = 0;     ///< live blocks, rounded up to their classes
  std::size_t span_bytes = 0;     ///< spans held for them; less live_bytes: free blocks and span ends
  std::size_t foreign_frees = 0;  ///< blocks of other workers released here, ever
  std::size_t collected = 0;      ///< own blocks that came home through the bin, ever
  std::size_t failed = 0;         ///< allocations refused, ever
};

/// Thread-safety: owner worker only, but stats functions and bin_bytes(): any thread.
class alignas(kCacheLineBytes) ValueHeap {
 public:
  /// `account`: of the same worker, which is below space.workers(). No operator new afterwards.
  ValueHeap(ValueSpace& space, MemoryAccount& account, WorkerId worker, NumaNodeId node);
  ~ValueHeap() = default;  // the spans belong to the space, which ends later
  ValueHeap(const ValueHeap&) = delete;
  ValueHeap& operator=(const ValueHeap&) = delete;

  /// A block of at least `bytes`, contents undefined; nullptr when the budget or the range is exhausted or
  /// `bytes` > kLargestValueBytes. Line aligned if `bytes` is a multiple of 64 or above 512, else 8-byte.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
    return bytes <= kLargestClassBytes ? allocate_small<false>(bytes) : allocate_large(bytes);
  }
  /// The block that the next allocate(bytes) will return; nullptr when that has to look for one first.
  [[nodiscard]] const void* next_block(std::size_t bytes) const noexcept {
    return bytes <= kLargestClassBytes ? next_of(*classes_[size_class_for(bytes)].current) : nullptr;
  }
  /// allocate(), and prefetches the first lines of a block that comes soon: a task that fills one block fills
  /// others of that size.
  [[nodiscard]] void* allocate_ahead(std::size_t bytes) noexcept {
    return bytes <= kLargestClassBytes ? allocate_small<true>(bytes) : allocate_large(bytes);
  }

  /// Takes back a block of any heap of the same space. Not nullptr.
  void release(void* block) noexcept {
    detail::Span* const span = space_->span_of(block);
    if (span->owner == this) [[likely]] {
      release_own(block, span);
    } else {
      release_foreign(block, span);
    }
  }

  /// Whether the block is one of this heap's, in a span that is less than three quarters full. The span that
  /// its class allocates from does not count. If such blocks move, their spans run empty. The block may not
  /// be released meanwhile.
  [[nodiscard]] bool in_sparse_span(const void* block) const noexcept {
    const detail::Span* const span = space_->span_of(block);
    return span->owner == this && span->list < detail::kFullnessLists - 1;
  }

  [[nodiscard]] std::size_t usable_size(const void* block) const noexcept {
    return space_->usable_size(block);
  }

  /// Puts all blocks of the own bin into their spans. Returns how many.
  std::size_t collect() noexcept;
  /// Sends blocks of other workers home that wait for their batch to fill.
  void flush_foreign() noexcept;
  /// Gives back empty spans that are kept as current ones. Also done by itself when the budget is exhausted.
  void trim() noexcept;

  /// Bytes that wait in the bin. Thread-safety: any thread.
  [[nodiscard]] std::size_t bin_bytes() const noexcept { return bin_.bytes(); }
  /// Thread-safety: any thread; each number is a recent one.
  [[nodiscard]] ValueClassStats class_stats(std::size_t size_class) const noexcept;
  [[nodiscard]] ValueHeapStats stats() const noexcept;

 private:
  static constexpr std::uint32_t kForeignBatch = 16;

  struct alignas(kCacheLineBytes) ClassState {
    detail::Span* current = nullptr;  ///< never null after construction: no_span_ if there is none
    std::array<detail::LinkedList<detail::Span>, detail::kFullnessLists> partial{};
    std::atomic<std::size_t> live_blocks{0};  // relaxed, one writer: statistics
    std::atomic<std::size_t> spans{0};        // relaxed, one writer: statistics
  };
  struct Outgoing {
    ValueHeap* owner = nullptr;
    std::uint32_t count = 0;
    std::size_t bytes = 0;
    std::array<void*, kForeignBatch> blocks{};
  };

  static bool has_block(const detail::Span& span) noexcept {
    return span.free != nullptr || span.bump != span.bump_end;
  }
  static void add(std::atomic<std::size_t>& counter, std::size_t n) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  static const void* next_of(const detail::Span& span) noexcept {
    return span.free != nullptr ? span.free : span.bump != span.bump_end ? span.base + span.bump : nullptr;
  }
  template <bool kAhead>
  [[nodiscard, gnu::always_inline]] void* allocate_small(std::size_t bytes) noexcept {
    const std::size_t size_class = size_class_for(bytes);
    ClassState& state = classes_[size_class];
    detail::Span* span = state.current;
    if (!has_block(*span)) [[unlikely]] {
      span = replace_current(size_class);
      if (span == nullptr) {
        add(failed_, 1);
        return nullptr;
      }
    }
    void* block = span->free;
    if (block != nullptr) {
      span->free = detail::read_link(block);
    } else {
      block = span->base + span->bump;
      span->bump += span->block_bytes;
    }
    if constexpr (kAhead) {
      fetch(ahead_of(state), span->block_bytes);
    }
    MXKV_DCHECK(span->owner == this && span->live < span->capacity(),
                "a block comes from a span with one free");
    ++span->live;
    add(state.live_blocks, 1);
    detail::unpoison(block, span->block_bytes);
    return block;
  }
  /// The block that comes next, or, where another span's turn is next, the one after that: in a heap that is
  /// written all over most spans have one free block or none.
  static const void* ahead_of(const ClassState& state) noexcept {
    if (const void* const next = next_of(*state.current); next != nullptr) {
      return next;
    }
    const detail::Span* const span = state.partial[detail::kFullnessLists - 1].front();
    return span == nullptr ? nullptr : next_of(span->next != nullptr ? *span->next : *span);
  }
  /// The first four lines of a block, or as many as it has; nothing is harmed where there is none.
  [[gnu::always_inline]] static void fetch(const void* block, std::size_t bytes) noexcept {
    prefetch_few(block, [bytes](std::size_t n) { return bytes > n * kCacheLineBytes; });
  }

  void release_own(void* block, detail::Span* span) noexcept {
    MXKV_DCHECK(span->live > 0, "no more blocks are released than were allocated");
    detail::poison(block, span->block_bytes);
    detail::write_link(block, span->free);
    span->free = block;
    add(classes_[span->size_class].live_blocks, std::size_t{0} - 1);
    if (--span->live == span->threshold) [[unlikely]] {
      reconsider(span);
    }
  }

  [[nodiscard]] detail::Span* replace_current(std::size_t size_class) noexcept;
  [[nodiscard]] detail::Span* new_span(std::size_t size_class) noexcept;
  [[nodiscard]] detail::Span* take_spans(std::uint32_t count) noexcept;
  void return_span(detail::Span* span) noexcept;
  void reconsider(detail::Span* span) noexcept;
  [[nodiscard]] void* allocate_large(std::size_t bytes) noexcept;
  void release_foreign(void* block, detail::Span* span) noexcept;
  void send(Outgoing& outgoing) noexcept;
  /// Blocks whose addresses one of this span may hold.
  [[nodiscard]] static std::uint32_t others_of(const detail::Span& span) noexcept;
  void write_group(void* head, void* next, std::span<void* const> others) noexcept;

  std::array<ClassState, kSizeClasses> classes_{};
  ValueSpace* space_;
  MemoryAccount* account_;
  detail::SuperblockPool* pool_;
  WorkerId worker_;
  std::unique_ptr<Outgoing[]> outgoing_;       ///< by owner
  detail::Span no_span_;                       ///< has no block, and never will
  std::atomic<std::size_t> foreign_frees_{0};  // relaxed, one writer: statistics, as the next two
  std::atomic<std::size_t> collected_{0};
  std::atomic<std::size_t> failed_{0};
  alignas(kCacheLineBytes) RecollectionBin bin_;  ///< on its own line: others write it
};

}  // namespace mxkv::runtime

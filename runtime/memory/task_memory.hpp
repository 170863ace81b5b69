// Task blocks, the two shared levels [Mx 5.2, figure 8]: a processor heap for each NUMA node, and the global
// heap (a PageRange) below. The third level, a core heap for each worker, is in core_heap.hpp.
//
// Levels exchange batches of kTaskBatchBlocks blocks, chained through the blocks themselves, so the latch of
// a processor heap is taken once per batch. Task memory is charged to the budget without asking, by the slab:
// 128 KiB that batches of one size are carved from. A slab goes back to the system when all of its blocks are
// free, which trim() finds out. Nothing is counted when blocks come and go.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/page_range.hpp"
#include "runtime/memory/short_latch.hpp"

namespace mxkv::runtime {

/// The block sizes of tasks: a task's class is chosen by its type, at compile time.
enum class task_block : std::uint8_t { bytes_64, bytes_128, bytes_192, bytes_256, bytes_384, bytes_640 };
inline constexpr std::size_t kTaskBlocks = 6;
inline constexpr std::array<std::size_t, kTaskBlocks> kTaskBlockBytes{64, 128, 192, 256, 384, 640};
inline constexpr std::size_t kLargestTaskBytes = kTaskBlockBytes.back();

/// Blocks that move between a core heap and its processor heap at once.
inline constexpr std::uint32_t kTaskBatchBlocks = 64;

/// Bytes of a slab, from which batches of one size are carved one after the other.
inline constexpr std::size_t kTaskSlabBytes = std::size_t{128} << 10U;
static_assert(kLargestTaskBytes * kTaskBatchBlocks <= kTaskSlabBytes, "a slab holds a batch");

[[nodiscard]] constexpr std::size_t task_block_bytes(task_block block) noexcept {
  return kTaskBlockBytes[static_cast<std::size_t>(block)];
}

/// The smallest block that holds `bytes`, at most kLargestTaskBytes.
[[nodiscard]] constexpr task_block task_block_for(std::size_t bytes) noexcept {
  std::size_t block = 0;
  while (block + 1 < kTaskBlocks && kTaskBlockBytes[block] < bytes) {
    ++block;
  }
  return static_cast<task_block>(block);
}

/// The heap of one NUMA node. Thread-safety: any thread.
class alignas(kCacheLineBytes) ProcessorHeap {
 public:
  /// Throws std::bad_alloc.
  ProcessorHeap(PageRange& global, MemoryBudget& budget, NumaNodeId node);
  ~ProcessorHeap();
  ProcessorHeap(const ProcessorHeap&) = delete;
  ProcessorHeap& operator=(const ProcessorHeap&) = delete;

  /// The first of exactly kTaskBatchBlocks chained free blocks, or nullptr when memory is exhausted.
  [[nodiscard]] void* take_batch(task_block block) noexcept;
  /// Takes over kTaskBatchBlocks chained free blocks.
  void give_batch(task_block block, void* first) noexcept;
  /// Takes over `count` chained free blocks, fewer than a batch.
  void give_loose(task_block block, void* first, std::uint32_t count) noexcept;
  /// Blocks that core heaps have.
  [[nodiscard]] std::size_t blocks_out(task_block block) noexcept;

  /// Whether trim() may find anything worth it: much is free, and some of it became so since the last one.
  [[nodiscard]] bool wants_trim() const noexcept {
    return free_bytes_.load(std::memory_order_relaxed) >= kWorthATrim &&
           given_back_.load(std::memory_order_relaxed);
  }
  /// Gives slabs back to the system that have no block in use. Takes time with the number of free blocks;
  /// meanwhile others carve new ones, if need be.
  void trim() noexcept;

 private:
  static constexpr std::size_t kWorthATrim = std::size_t{1} << 20U;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// 128 KiB of the range, which is a slab if blocks were carved from it.
  struct Slab {
    /// Blocks that were carved, and kWhole when no more will be. The release of kWhole pairs with the
    /// acquire in trim().
    std::atomic<std::uint32_t> carved;
    std::uint32_t free;  ///< of these; trim()'s own
    std::uint32_t next;  ///< of the slabs that were given back
  };
  static constexpr std::uint32_t kWhole = std::uint32_t{1} << 31U;
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  struct Carving {
    std::byte* next = nullptr;
    std::byte* end = nullptr;
  };
  struct Chain {
    void* first = nullptr;
    std::uint32_t count = 0;
  };

  void* carve_batch(task_block block) noexcept;
  [[nodiscard]] std::byte* take_slab() noexcept;
  void add_loose(task_block block, const Chain& chain) noexcept;
  [[nodiscard]] Slab& slab_of(const void* block) const noexcept;
  template <std::invocable<void*> F>
  static void for_each_block(void* batches, const Chain& loose, const F& f) noexcept;

  PageRange* global_;
  MemoryBudget* budget_;
  NumaNodeId node_;
  detail::ShortLatch latch_;  ///< guards all below
  std::array<void*, kTaskBlocks> batches_{};
  std::array<Chain, kTaskBlocks> loose_{};  ///< the rest of batches that trim() took apart
  std::array<std::size_t, kTaskBlocks> blocks_out_{};
  std::array<Carving, kTaskBlocks> carving_{};
  Carving arena_;
  std::uint32_t free_slabs_ = kNone;  ///< slabs that were given back
  std::size_t charged_bytes_ = 0;
  bool trimming_ = false;
  // Hints, written under the latch.
  std::atomic<std::size_t> free_bytes_{0};
  std::atomic<bool> given_back_{false};  ///< since the last trim began
  std::unique_ptr<Slab[], Free> slabs_;  ///< by address; zero pages until one is used
};

/// The shared part of the task allocator. Lives longer than all core heaps.
/// Thread-safety: any thread, except construction and destruction.
class TaskMemory {
 public:
  static constexpr std::size_t kDefaultReserveBytes = std::size_t{4} << 30U;

  /// Reserves `reserve_bytes` of address space for all nodes. Throws std::system_error when refused.
  TaskMemory(MemoryBudget& budget, PageOptions pages, std::size_t reserve_bytes = kDefaultReserveBytes);
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;

  [[nodiscard]] ProcessorHeap& processor_heap(NumaNodeId node) noexcept { return heaps_[node.index()]; }
  /// Blocks of a size that are with core heaps or in use.
  [[nodiscard]] std::size_t blocks_out(task_block block) noexcept;
  /// Bytes of arenas ever taken for tasks: an upper bound of the resident ones.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return range_.taken_bytes(); }

 private:
  PageRange range_;
  std::deque<ProcessorHeap> heaps_;
};

}  // namespace mxkv::runtime

// Task blocks, the two shared levels [Mx 5.2, figure 8]: a processor heap for each NUMA node, and the global
// heap (a PageRange) below. The third level, a core heap for each worker, is in core_heap.hpp.
//
// Levels exchange batches of kTaskBatchBlocks blocks, chained through the blocks themselves, so the latch of
// a processor heap is taken once per batch. Task memory is never given back to the system: it is bounded by
// the most tasks that ever were in flight. It is charged to the budget without asking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/page_range.hpp"
#include "runtime/memory/short_latch.hpp"

namespace mxkv::runtime {

/// The block sizes of tasks: a task's class is chosen by its type, at compile time.
enum class task_block : std::uint8_t { bytes_64, bytes_128, bytes_192, bytes_384, bytes_640 };
inline constexpr std::size_t kTaskBlocks = 5;
inline constexpr std::array<std::size_t, kTaskBlocks> kTaskBlockBytes{64, 128, 192, 384, 640};
inline constexpr std::size_t kLargestTaskBytes = kTaskBlockBytes.back();

/// Blocks that move between a core heap and its processor heap at once.
inline constexpr std::uint32_t kTaskBatchBlocks = 64;

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
  ProcessorHeap(PageRange& global, MemoryBudget& budget, NumaNodeId node) noexcept
      : global_(&global), budget_(&budget), node_(node) {}
  ~ProcessorHeap();
  ProcessorHeap(const ProcessorHeap&) = delete;
  ProcessorHeap& operator=(const ProcessorHeap&) = delete;

  /// The first of exactly kTaskBatchBlocks chained free blocks, or nullptr when memory is exhausted.
  [[nodiscard]] void* take_batch(task_block block) noexcept;
  /// Takes over kTaskBatchBlocks chained free blocks.
  void give_batch(task_block block, void* first) noexcept;
  /// Batches that core heaps have.
  [[nodiscard]] std::size_t batches_out(task_block block) noexcept;

 private:
  void* carve_batch(std::size_t block_bytes) noexcept;

  PageRange* global_;
  MemoryBudget* budget_;
  NumaNodeId node_;
  detail::ShortLatch latch_;  ///< guards all below
  std::array<void*, kTaskBlocks> batches_{};
  std::array<std::size_t, kTaskBlocks> batches_out_{};
  std::byte* arena_next_ = nullptr;
  std::byte* arena_end_ = nullptr;
  std::size_t charged_bytes_ = 0;
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
  /// Bytes of arenas taken for tasks; what is resident is at most this.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return range_.taken_bytes(); }

 private:
  PageRange range_;
  std::deque<ProcessorHeap> heaps_;
};

}  // namespace mxkv::runtime

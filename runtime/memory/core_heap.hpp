// Task blocks of one worker: the top level of the task allocator [Mx 5.2].
//
// A plain LIFO list per block size, without atomics: a task runs to completion on its worker, so no other
// worker is in here. The block freed last is given out first, because it is still in the core's cache. A
// block may be released on another worker than the one that allocated it: it just changes hands.
//
// Each size has two lists of up to a batch, `loaded` and `spare`. When `loaded` is full or empty the two are
// swapped. Only when both are, a whole batch goes to, or comes from, the processor heap. So a worker that
// swings around the border of a batch does not take the latch at every swing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/memory/poison.hpp"
#include "runtime/memory/task_memory.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only.
class alignas(kCacheLineBytes) CoreHeap {
 public:
  explicit CoreHeap(ProcessorHeap& processor_heap) noexcept : processor_heap_(&processor_heap) {}
  /// All blocks go back to the processor heap.
  ~CoreHeap() { flush(); }
  CoreHeap(const CoreHeap&) = delete;
  CoreHeap& operator=(const CoreHeap&) = delete;

  /// A block of task_block_bytes(block) bytes, 64-byte aligned, contents undefined; nullptr when the system
  /// has no memory left.
  [[nodiscard]] void* allocate(task_block block) noexcept {
    Magazine& magazine = magazines_[static_cast<std::size_t>(block)];
    if (magazine.loaded.top == nullptr && !refill(block)) [[unlikely]] {
      return nullptr;
    }
    void* const top = magazine.loaded.top;
    MXKV_DCHECK(magazine.loaded.count > 0, "a list's count is that of its chain");
    magazine.loaded.top = detail::read_link(top);
    fetch(magazine.loaded.top, block);
    --magazine.loaded.count;
    detail::unpoison(top, task_block_bytes(block));
    return top;
  }

  /// Takes back a block that any worker's core heap of the same TaskMemory gave out with the same size.
  void release(void* address, task_block block) noexcept {
    MXKV_DCHECK(reinterpret_cast<std::uintptr_t>(address) % kCacheLineBytes == 0,
                "task blocks are line aligned");
    Magazine& magazine = magazines_[static_cast<std::size_t>(block)];
    if (magazine.loaded.count == kTaskBatchBlocks) [[unlikely]] {
      overflow(block);
    }
    detail::poison(address, task_block_bytes(block));
    detail::write_link(address, magazine.loaded.top);
    magazine.loaded.top = address;
    ++magazine.loaded.count;
  }

  /// Gives all free blocks back to the processor heap.
  void flush() noexcept;
  /// Gives unused memory back to the system, if that is worth it. Takes time with the number of free blocks.
  void trim() noexcept {
    if (wants_trim()) {
      flush();
      processor_heap_->trim();
    }
  }
  [[nodiscard]] bool wants_trim() const noexcept { return processor_heap_->wants_trim(); }

  /// Free blocks of a size that this heap holds.
  [[nodiscard]] std::size_t free_blocks(task_block block) const noexcept {
    const Magazine& magazine = magazines_[static_cast<std::size_t>(block)];
    return std::size_t{magazine.loaded.count} + magazine.spare.count;
  }

 private:
  struct List {
    void* top = nullptr;
    std::uint32_t count = 0;
  };
  struct Magazine {
    List loaded;
    List spare;  ///< empty or full when `loaded` is neither; swapped in when `loaded` runs empty or full
  };

  /// Tasks are made many at a time, and blocks have left the near caches since they were used: the next one's
  /// first lines come while this one is filled. Nothing is harmed where there is none.
  [[gnu::always_inline]] static void fetch(const void* next, task_block block) noexcept {
    prefetch_few(next, [block](unsigned n) {
      return block >= (n == 1 ? task_block::bytes_128 : task_block::bytes_256);
    });
  }
  [[nodiscard]] bool refill(task_block block) noexcept;
  void overflow(task_block block) noexcept;

  std::array<Magazine, kTaskBlocks> magazines_{};
  ProcessorHeap* processor_heap_;
};

}  // namespace mxkv::runtime

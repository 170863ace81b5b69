#include "runtime/memory/task_memory.hpp"

#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/memory/poison.hpp"

namespace mxkv::runtime {

namespace {

// A batch's first block links to the next batch in its second word; the first word links blocks.
void* second_word(void* block) noexcept {
  return static_cast<std::byte*>(block) + sizeof(void*);
}

}  // namespace

ProcessorHeap::~ProcessorHeap() {
  budget_->refund(memory_category::tasks, charged_bytes_);
}

void* ProcessorHeap::take_batch(task_block block) noexcept {
  const std::lock_guard guard(latch_);
  void*& top = batches_[static_cast<std::size_t>(block)];
  void* const first = top == nullptr ? carve_batch(task_block_bytes(block)) : top;
  if (top != nullptr) {
    top = detail::read_link(second_word(first));
  }
  batches_out_[static_cast<std::size_t>(block)] += first == nullptr ? 0 : 1;
  return first;
}

void ProcessorHeap::give_batch(task_block block, void* first) noexcept {
  const std::lock_guard guard(latch_);
  void*& top = batches_[static_cast<std::size_t>(block)];
  detail::write_link(second_word(first), top);
  top = first;
  --batches_out_[static_cast<std::size_t>(block)];
}

std::size_t ProcessorHeap::batches_out(task_block block) noexcept {
  const std::lock_guard guard(latch_);
  return batches_out_[static_cast<std::size_t>(block)];
}

void* ProcessorHeap::carve_batch(std::size_t block_bytes) noexcept {
  const std::size_t batch_bytes = block_bytes * kTaskBatchBlocks;
  static_assert(kLargestTaskBytes * kTaskBatchBlocks <= kHugePageBytes, "an arena holds a batch");
  if (static_cast<std::size_t>(arena_end_ - arena_next_) < batch_bytes) {
    // The tail of the old arena, less than a batch, is left unused and untouched.
    void* const arena = global_->take(kHugePageBytes, node_);
    if (arena == nullptr) {
      return nullptr;
    }
    arena_next_ = static_cast<std::byte*>(arena);
    arena_end_ = arena_next_ + kHugePageBytes;
    charged_bytes_ += kHugePageBytes;
    budget_->charge_unconditionally(memory_category::tasks, kHugePageBytes);
  }
  std::byte* const first = arena_next_;
  arena_next_ += batch_bytes;
  detail::poison(first, batch_bytes);
  for (std::uint32_t i = 0; i < kTaskBatchBlocks; ++i) {
    std::byte* const block = first + i * block_bytes;
    detail::write_link(block, i + 1 < kTaskBatchBlocks ? block + block_bytes : nullptr);
  }
  return first;
}

TaskMemory::TaskMemory(MemoryBudget& budget, PageOptions pages, std::size_t reserve_bytes)
    : range_(reserve_bytes, std::move(pages)) {
  for (std::size_t node = 0; node < range_.node_count(); ++node) {
    heaps_.emplace_back(range_, budget, NumaNodeId(static_cast<NumaNodeId::rep>(node)));
  }
}

std::size_t TaskMemory::blocks_out(task_block block) noexcept {
  std::size_t batches = 0;
  for (ProcessorHeap& heap : heaps_) {
    batches += heap.batches_out(block);
  }
  return batches * kTaskBatchBlocks;
}

}  // namespace mxkv::runtime

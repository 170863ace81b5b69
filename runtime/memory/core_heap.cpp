#include "runtime/memory/core_heap.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

void CoreHeap::flush() noexcept {
  for (std::size_t i = 0; i < kTaskBlocks; ++i) {
    for (List* const list : {&magazines_[i].loaded, &magazines_[i].spare}) {
      MXKV_ASSERT((list->top == nullptr) == (list->count == 0), "a list's count is that of its chain");
      if (list->count == kTaskBatchBlocks) {
        processor_heap_->give_batch(static_cast<task_block>(i), list->top);
      } else if (list->count != 0) {
        processor_heap_->give_loose(static_cast<task_block>(i), list->top, list->count);
      }
      *list = {};
    }
  }
}

bool CoreHeap::refill(task_block block) noexcept {
  Magazine& magazine = magazines_[static_cast<std::size_t>(block)];
  MXKV_ASSERT(magazine.loaded.count == 0, "only an empty list is refilled");
  std::swap(magazine.loaded, magazine.spare);
  if (magazine.loaded.top != nullptr) {
    return true;
  }
  magazine.loaded.top = processor_heap_->take_batch(block);
  magazine.loaded.count = magazine.loaded.top == nullptr ? 0 : kTaskBatchBlocks;
  return magazine.loaded.top != nullptr;
}

void CoreHeap::overflow(task_block block) noexcept {
  Magazine& magazine = magazines_[static_cast<std::size_t>(block)];
  MXKV_ASSERT(magazine.loaded.count == kTaskBatchBlocks, "only a full list overflows");
  std::swap(magazine.loaded, magazine.spare);
  if (magazine.loaded.count == kTaskBatchBlocks) {
    processor_heap_->give_batch(block, magazine.loaded.top);
    magazine.loaded = List{};
  }
  MXKV_ASSERT(magazine.loaded.count == 0, "the spare list is empty or full");
}

}  // namespace mxkv::runtime

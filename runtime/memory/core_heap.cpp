#include "runtime/memory/core_heap.hpp"

#include <utility>

namespace mxkv::runtime {

void CoreHeap::flush() noexcept {
  for (std::size_t i = 0; i < kTaskBlocks; ++i) {
    for (List* const list : {&magazines_[i].loaded, &magazines_[i].spare}) {
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
  std::swap(magazine.loaded, magazine.spare);
  if (magazine.loaded.count == kTaskBatchBlocks) {
    processor_heap_->give_batch(block, magazine.loaded.top);
    magazine.loaded = List{};
  }
}

}  // namespace mxkv::runtime

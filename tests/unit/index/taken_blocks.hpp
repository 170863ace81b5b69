// Free memory that a test takes away from a heap, so that other tasks get none.
#pragma once

#include <utility>
#include <vector>

#include "runtime/memory/value_heap.hpp"

namespace mxkv::index::testing {

/// Thread-safety: where the heaps may be used.
class TakenBlocks {
 public:
  /// Takes blocks of this size until only `left` of them remain. Blocks that a heap may get by a new span
  /// count, too: the budget has to be used up first.
  void take(runtime::ValueHeap& heap, std::size_t bytes, std::size_t left) {
    constexpr std::size_t kMost = 5'000;  // more than a span holds
    for (std::size_t n = 0; n < kMost; ++n) {
      void* block = heap.allocate(bytes);
      if (block == nullptr) {
        break;
      }
      taken_.emplace_back(&heap, block);
    }
    for (; left > 0 && !taken_.empty(); --left) {
      taken_.back().first->release(taken_.back().second);
      taken_.pop_back();
    }
  }
  void give_back() {
    for (const auto& [heap, block] : taken_) {
      heap->release(block);
    }
    taken_.clear();
  }

 private:
  std::vector<std::pair<runtime::ValueHeap*, void*>> taken_;
};

}  // namespace mxkv::index::testing

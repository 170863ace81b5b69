// Blocks on the memory of all NUMA nodes in turn: for data that all workers read alike, so that no single
// node's memory serves it to all. Inner nodes of an index, for one.
//
// A ValueHeap a node, all under one latch: such blocks are few beside the blocks that workers make for
// themselves. They are released as any block of the space, on the releasing worker's heap, and come home when
// collect() or the next allocation looks.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "runtime/memory/short_latch.hpp"
#include "runtime/memory/value_heap.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread.
class SpreadHeap {
 public:
  /// Heaps `first` and following of the space, one for each of `nodes`; `account`: its own.
  SpreadHeap(ValueSpace& space, MemoryAccount& account, WorkerId first, std::span<const NumaNodeId> nodes);
  SpreadHeap(const SpreadHeap&) = delete;
  SpreadHeap& operator=(const SpreadHeap&) = delete;

  /// As ValueHeap's, on the next node's memory; where that is used up on another one's.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// Takes in released blocks, and gives back empty spans.
  void collect() noexcept;
  [[nodiscard]] const std::vector<NumaNodeId>& nodes() const noexcept { return nodes_; }
  /// Statistics of the heap on the i-th of nodes().
  [[nodiscard]] ValueHeapStats stats(std::size_t i) const noexcept { return heaps_[i].stats(); }

 private:
  std::vector<NumaNodeId> nodes_;
  MemoryAccount& account_;
  detail::ShortLatch latch_;  ///< guards all below, and the account
  std::deque<ValueHeap> heaps_;
  std::size_t next_ = 0;
};

}  // namespace mxkv::runtime

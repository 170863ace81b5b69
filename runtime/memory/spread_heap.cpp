#include "runtime/memory/spread_heap.hpp"

#include <mutex>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

SpreadHeap::SpreadHeap(ValueSpace& space, MemoryAccount& account, WorkerId first,
                       std::span<const NumaNodeId> nodes)
    : nodes_(nodes.begin(), nodes.end()), account_(account) {
  MXKV_ASSERT(first.index() + nodes.size() <= space.workers(), "the space was made for these heaps, too");
  for (const NumaNodeId node : nodes) {
    heaps_.emplace_back(space, account, WorkerId{static_cast<std::uint16_t>(first.value() + heaps_.size())},
                        node);
  }
}

void* SpreadHeap::allocate(std::size_t bytes) noexcept {
  const std::scoped_lock lock{latch_};
  for (std::size_t tries = 0; tries < heaps_.size(); ++tries) {
    ValueHeap& heap = heaps_[next_];
    next_ = (next_ + 1) % heaps_.size();
    if (void* const block = heap.allocate(bytes); block != nullptr) {
      return block;
    }
  }
  return nullptr;
}

void SpreadHeap::collect() noexcept {
  const std::scoped_lock lock{latch_};
  for (ValueHeap& heap : heaps_) {
    heap.collect();
    heap.trim();
  }
  account_.flush();
}

}  // namespace mxkv::runtime

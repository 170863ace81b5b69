// The pools that a worker looks at: its pinned one in slot 0, then those for data objects. The rebalancer
// moves those from worker to worker.
//
// A pool keeps its slot for as long as it stays, since tasks in the prefetch buffer are tagged with it; one
// that left leaves a hole, which the next one fills. Room is reserved before a pool sets out, so that it
// finds some when it arrives. Slots are words of their own because thieves look, too. A pool that a thief
// finds may have moved on meanwhile. That is harmless, as only the holder of the pool's lease executes from
// it. Slots are seq_cst, as the words of pools are. Of a worker that comes and wakes a thief, and a thief
// that parks and looks, one sees the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/assert.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/pool/task_pool.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only, unless a function says otherwise.
class OwnedPools {
 public:
  /// One tag is left for a stolen pool.
  static constexpr std::size_t kMostSlots = PrefetchBuffer::kMaxPools - 1;

  explicit OwnedPools(std::span<TaskPool> pools) noexcept {
    MXKV_ASSERT(!pools.empty() && pools.size() <= kMostSlots, "a worker's pools fit the tag of a task");
    for (TaskPool& pool : pools) {
      slots_[used()].store(&pool, std::memory_order_relaxed);
      used_.store(used() + 1, std::memory_order_relaxed);
    }
    room_.store(static_cast<std::uint32_t>(kMostSlots - pools.size()), std::memory_order_relaxed);
  }

  /// Slots up to the last pool, holes among them. Any thread.
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_seq_cst); }
  /// The pool in a slot, or null. Any thread.
  [[nodiscard]] TaskPool* at(std::size_t slot) const noexcept {
    MXKV_DCHECK(slot < kMostSlots, "a slot is one of the array");
    return slots_[slot].load(std::memory_order_seq_cst);
  }
  /// The pool that only this worker ever executes from. Any thread.
  [[nodiscard]] TaskPool& pinned() const noexcept { return *at(0); }
  /// The slot of a pool; used() if it is not here.
  [[nodiscard]] std::size_t find(const TaskPool& pool) const noexcept {
    std::size_t slot = 0;
    while (slot < used() && at(slot) != &pool) {
      ++slot;
    }
    return slot;
  }

  /// Keeps a slot free for a pool that is to come. Any thread.
  [[nodiscard]] bool reserve() noexcept {
    std::uint32_t room = room_.load(std::memory_order_relaxed);
    while (room != 0 && !room_.compare_exchange_weak(room, room - 1, std::memory_order_relaxed)) {
    }
    return room != 0;
  }
  /// How many more may be reserved. Any thread.
  [[nodiscard]] std::uint32_t room() const noexcept { return room_.load(std::memory_order_relaxed); }

  /// Takes in a pool for which a slot was reserved.
  void add(TaskPool& pool) noexcept {
    MXKV_ASSERT(find(pool) == used(), "a pool is in one slot");
    std::size_t slot = 0;
    while (slot < used() && at(slot) != nullptr) {
      ++slot;
    }
    MXKV_ASSERT(slot < kMostSlots, "room was reserved for a pool that comes");
    slots_[slot].store(&pool, std::memory_order_seq_cst);
    if (slot == used()) {
      used_.store(slot + 1, std::memory_order_seq_cst);
    }
  }
  /// Lets a pool go, of which no task is in the buffer.
  void remove(std::size_t slot) noexcept {
    MXKV_ASSERT(slot != 0 && slot < used() && at(slot) != nullptr, "the pinned pool stays");
    slots_[slot].store(nullptr, std::memory_order_seq_cst);
    std::size_t end = used();
    while (at(end - 1) == nullptr) {
      --end;
    }
    used_.store(end, std::memory_order_seq_cst);
    room_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<TaskPool*>, kMostSlots> slots_{};
  std::atomic<std::size_t> used_{0};
  std::atomic<std::uint32_t> room_{0};
};

}  // namespace mxkv::runtime

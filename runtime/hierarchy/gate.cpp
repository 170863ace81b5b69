#include "runtime/hierarchy/gate.hpp"

#include <mutex>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

/// All but `closed` under the latch; `closed` is written there.
struct alignas(kCacheLineBytes) WriteGate::Slot {
  detail::ShortLatch latch;
  std::atomic<std::uint32_t> closed{0};  ///< operations that hold it
  std::uint32_t admitted = 0;            ///< writes that were woken and have not left
  TaskList writes;                       ///< that wait until it opens
  TaskList operations;                   ///< that wait until all admitted have left
};

namespace {

void spawn_all(TaskList& tasks, Worker& worker) noexcept {
  while (MxTask* const task = tasks.pop_front()) {
    worker.spawn(task);
  }
}

}  // namespace

WriteGate::WriteGate(std::uint32_t slots) : count_(slots), slots_(std::make_unique<Slot[]>(slots)) {}
WriteGate::~WriteGate() = default;

bool WriteGate::is_open(std::uint32_t slot) const noexcept {
  return slots_[slot].closed.load(std::memory_order_seq_cst) == 0;  // pairs with close()
}

bool WriteGate::park(std::uint32_t slot, MxTask& task) noexcept {
  MXKV_ASSERT(slot < count_, "a write is in a slot that there is");
  Slot& at = slots_[slot];
  const std::lock_guard guard{at.latch};
  if (at.closed.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  MXKV_ASSERT(at.admitted == 0, "a slot is closed after all that were admitted have left");
  parked_.fetch_add(1, std::memory_order_relaxed);
  at.writes.push_back(&task);
  return true;
}

void WriteGate::leave(std::uint32_t slot, Worker& worker) noexcept {
  Slot& at = slots_[slot];
  TaskList next;
  {
    const std::lock_guard guard{at.latch};
    MXKV_ASSERT(at.admitted > 0, "a write that leaves was admitted");
    if (--at.admitted == 0) {
      std::swap(next, at.operations);
    }
  }
  spawn_all(next, worker);
}

bool WriteGate::close(std::uint32_t slot, MxTask& operation) noexcept {
  MXKV_ASSERT(slot < count_, "an operation closes slots that there are");
  Slot& at = slots_[slot];
  const std::lock_guard guard{at.latch};
  if (at.admitted > 0 || !at.writes.empty()) {
    at.operations.push_back(&operation);
    return false;
  }
  // Pair with all_open() and is_open().
  if (at.closed.fetch_add(1, std::memory_order_seq_cst) == 0) {
    closed_slots_.fetch_add(1, std::memory_order_seq_cst);
  }
  return true;
}

void WriteGate::open(std::uint32_t slot, Worker& worker) noexcept {
  Slot& at = slots_[slot];
  TaskList next;
  {
    const std::lock_guard guard{at.latch};
    // Release: a write that finds it open finds all writes made while it was closed.
    const std::uint32_t closed = at.closed.fetch_sub(1, std::memory_order_acq_rel);
    MXKV_ASSERT(closed > 0, "an operation opens what it closed");
    if (closed > 1) {
      return;
    }
    MXKV_ASSERT(at.admitted == 0, "nobody was admitted to a closed slot");
    const std::uint32_t closed_slots = closed_slots_.fetch_sub(1, std::memory_order_acq_rel);
    MXKV_ASSERT(closed_slots > 0, "a closed slot was counted");
    while (MxTask* const task = at.writes.pop_front()) {
      next.push_back(task);
      ++at.admitted;
    }
  }
  spawn_all(next, worker);
}

std::size_t WriteGate::discard_waiting(Worker& worker) noexcept {
  std::size_t discarded = 0;
  for (std::uint32_t slot = 0; slot < count_; ++slot) {
    while (MxTask* const task = slots_[slot].writes.pop_front()) {
      task->task_class().discard(*task, worker);
      ++discarded;
    }
    while (MxTask* const task = slots_[slot].operations.pop_front()) {
      task->task_class().discard(*task, worker);
      ++discarded;
    }
  }
  return discarded;
}

}  // namespace mxkv::runtime

// The gate of the slots holds single writes off the slots that an operation holds. While no operation is
// under way, it costs them a load.
//
// Toggle orders operations among themselves. Writes of one key do not go through it: they latch one node, ask
// under that latch whether their slot is open, and write. An operation closes its slots before it looks at a
// node. Either the write asks later and finds its slot closed. Or it held its latch before, and the operation
// meets that latch, or the new contents, when it gets to the node. For that, latching and closing need one
// order: taking the latch, asking, and closing are sequentially consistent. The fence of closed() stands
// between closing and looking. On x86 asking costs a load.
//
// A write that finds its slot closed is parked, and holds nothing but its key meanwhile. When the slot opens
// all that wait are admitted: they may write whatever the gate says. No operation closes the slot before each
// of them has left. So operations that follow each other closely, or share a slot, starve no write.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/memory/short_latch.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

/// Thread-safety: any worker.
class WriteGate {
 public:
  /// Throws std::bad_alloc.
  explicit WriteGate(std::uint32_t slots);
  ~WriteGate();
  WriteGate(const WriteGate&) = delete;
  WriteGate& operator=(const WriteGate&) = delete;

  // --- For writes ---

  /// Under the latch of the object to be written.
  [[nodiscard]] bool all_open() const noexcept {
    return closed_slots_.load(std::memory_order_seq_cst) == 0;  // pairs with close()
  }
  [[nodiscard]] bool is_open(std::uint32_t slot) const noexcept;
  /// Keeps a task that holds no latch and no pin until the slot opens; it is spawned then, where its
  /// annotations say, and is admitted. False: it is open, and the task not kept.
  [[nodiscard]] bool park(std::uint32_t slot, MxTask& task) noexcept;
  /// A task that was admitted has written, or will not yet.
  void leave(std::uint32_t slot, Worker& worker) noexcept;

  // --- For operations, each of which holds its slots in Toggle ---

  /// Closes a slot; other operations that only read may have closed it, too. False: writes that waited go
  /// first; the operation is parked and spawned when it is to try again. Slots must be closed in ascending
  /// order.
  [[nodiscard]] bool close(std::uint32_t slot, MxTask& operation) noexcept;
  /// All are closed: from here on the contents of these slots do not change.
  static void closed() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void open(std::uint32_t slot, Worker& worker) noexcept;

  /// Writes that were parked since the beginning. Any thread.
  [[nodiscard]] std::uint64_t parked() const noexcept { return parked_.load(std::memory_order_relaxed); }
  /// Drops all parked tasks; returns how many. Only when no worker runs any more.
  std::size_t discard_waiting(Worker& worker) noexcept;

 private:
  struct Slot;

  std::uint32_t count_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint64_t> parked_{0};                                 // relaxed: statistics
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> closed_slots_{0};  // all writes read it
};

}  // namespace mxkv::runtime

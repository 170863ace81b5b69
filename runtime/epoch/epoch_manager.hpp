// Epochs and pins: when the memory of an unlinked object may be reused [Mx 4.4].
//
// A worker publishes the global epoch at the start of a batch of tasks and "infinity" when it idles. A task
// that is queued outlives its worker's batch, so a request *pins*. It enters at its worker's own published
// epoch and leaves when its last task ends, on any worker. Entered and left are counters per worker and epoch
// slot, so a pin costs two increments of lines that only one core writes.
//
// Safety, in three steps.
// 1. An object is unlinked, then stamped with the global epoch it reads afterwards, plus one.
// 2. The worker that advances from epoch e runs a heavy fence after it saw e and before any can see e + 1.
//    An unlink stamped e or lower read an epoch below e, so it precedes that fence and is visible to all
//    after it. A reader at epoch e + 1 or later entered after the fence and cannot find the object.
// 3. So the object may go when its stamp is *below* the oldest epoch that any reader is in (the horizon).
//
// The horizon is read workers first. Let W be the least published epoch. No worker enters below W any more,
// so for each epoch below W the sum of entered minus left can only fall. A full fence is needed only when a
// worker goes from infinity to an epoch. From a lower epoch a late store only delays the horizon.
//
// What it does not do: free anything. See retire_list.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/heavy_fence.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/options.hpp"

namespace mxkv::runtime {

/// The word for a mode, as flags and configurations write it. Any thread.
[[nodiscard]] constexpr std::string_view epoch_mode_name(epoch_mode mode) noexcept {
  constexpr std::string_view kNames[] = {"batched", "task", "off"};
  return kNames[static_cast<unsigned>(mode)];
}

/// The epoch state of all workers. Thread-safety: given per function.
class EpochManager {
 public:
  static constexpr std::uint64_t kInfinity = ~std::uint64_t{0};
  static constexpr std::uint64_t kFirst = 1;
  /// Pins of this many epochs are distinguished; the epoch does not advance into a slot still in use.
  static constexpr std::size_t kSlots = 16;

  explicit EpochManager(std::size_t workers);

  [[nodiscard]] std::uint64_t current() const noexcept { return global_.load(std::memory_order_acquire); }

  /// Publishes the current epoch for `worker`. Owner worker only.
  void enter(WorkerId worker) noexcept;
  /// Publishes infinity: the worker holds no pointer but pinned ones. Owner worker only.
  void leave(WorkerId worker) noexcept;
  /// The epoch that `worker` published. Owner worker only.
  [[nodiscard]] std::uint64_t published(WorkerId worker) const noexcept {
    return states_[worker.index()].epoch.load(std::memory_order_relaxed);
  }

  /// Pins at the worker's published epoch, which must not be infinity; returns the slot. Owner worker only.
  [[nodiscard]] std::uint8_t pin(WorkerId worker) noexcept {
    State& state = states_[worker.index()];
    const std::uint64_t epoch = state.epoch.load(std::memory_order_relaxed);
    MXKV_DCHECK(epoch != kInfinity, "a worker that is in no epoch cannot pin");
    const std::size_t slot = epoch % kSlots;
    bump(state.entered[slot], std::memory_order_relaxed);
    return static_cast<std::uint8_t>(slot);
  }

  /// The slot that pin() would take now. Owner worker only.
  [[nodiscard]] std::uint8_t slot(WorkerId worker) const noexcept {
    return static_cast<std::uint8_t>(published(worker) % kSlots);
  }

  /// Another pin in the slot of a pin that the caller holds, for work that refers to objects found under that
  /// pin. A pin at a later epoch would not protect them. Owner worker only.
  void pin_again(WorkerId worker, std::uint8_t slot) noexcept {
    MXKV_DCHECK(slot < kSlots, "a pin is in one of the slots");
    bump(states_[worker.index()].entered[slot], std::memory_order_relaxed);
  }

  /// Ends a pin taken on any worker. `worker` is the caller. Owner worker only.
  void unpin(WorkerId worker, std::uint8_t slot) noexcept {
    MXKV_DCHECK(slot < kSlots, "a pin is in one of the slots");
    bump(states_[worker.index()].left[slot], std::memory_order_release);  // pairs with horizon()
  }

  /// The stamp for an object that the caller has just unlinked. Any thread.
  [[nodiscard]] std::uint64_t retire_stamp() const noexcept {
    light_fence();  // orders the unlink before the load, together with the heavy fence in try_advance()
    return global_.load(std::memory_order_acquire) + 1;
  }

  /// Moves the global epoch on by one, unless a pin of kSlots epochs ago is still held. Any thread; slow.
  bool try_advance() noexcept;

  /// Objects with a stamp below this may be freed. Any thread; reads all workers.
  [[nodiscard]] std::uint64_t horizon() const noexcept;

 private:
  using Counter = std::atomic<std::uint64_t>;
  struct alignas(2 * kCacheLineBytes) State {
    std::atomic<std::uint64_t> epoch{kInfinity};
    Counter entered[kSlots]{};
    alignas(kCacheLineBytes) Counter left[kSlots]{};
  };

  static void bump(Counter& counter, std::memory_order order) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, order);  // one writer: a plain increment
  }
  [[nodiscard]] std::uint64_t least_published() const noexcept;
  [[nodiscard]] bool drained(std::uint64_t epoch) const noexcept;

  std::size_t workers_;
  std::unique_ptr<State[]> states_;
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> global_{kFirst};
};

}  // namespace mxkv::runtime

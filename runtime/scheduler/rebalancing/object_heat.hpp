// Which objects of a worker's pools are hot: a small table that samples are counted in.
//
// A slot keeps one object. A sample of an object without a slot takes from the least count, and gets that
// slot when the count is used up. So an object with more than a small share of the samples is found, and the
// many cold ones need no memory. Slots are not chosen by address: the result is the same wherever memory is
// mapped. The rebalancer reads while the worker counts: a value that it reads may be torn, names an object at
// most, and is never followed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

class DataObject;

/// Thread-safety: count() owner worker only; the rest any thread.
class ObjectHeat {
 public:
  static constexpr std::size_t kSlots = 64;

  struct Slot {
    std::atomic<const DataObject*> object{nullptr};
    std::atomic<std::uint64_t> tasks{0};
    std::atomic<PoolId::rep> pool{0};
  };

  /// Counts `tasks` executed tasks, of which one was seen to be of `object`.
  void count(const DataObject* object, PoolId pool, std::uint64_t tasks) noexcept {
    if (forget_.load(std::memory_order_relaxed)) {
      forget_.store(false, std::memory_order_relaxed);
      for (Slot& slot : slots_) {
        slot.tasks.store(0, std::memory_order_relaxed);
      }
    }
    Slot& slot = slot_for(object);
    const std::uint64_t counted = slot.tasks.load(std::memory_order_relaxed);
    if (slot.object.load(std::memory_order_relaxed) == object) {
      slot.tasks.store(counted + tasks, std::memory_order_relaxed);
      slot.pool.store(pool.value(), std::memory_order_relaxed);
    } else if (counted > tasks) {
      slot.tasks.store(counted - tasks, std::memory_order_relaxed);
    } else {
      slot.object.store(object, std::memory_order_relaxed);
      slot.pool.store(pool.value(), std::memory_order_relaxed);
      slot.tasks.store(tasks - counted, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] const std::array<Slot, kSlots>& slots() const noexcept { return slots_; }
  /// Has the worker begin anew with its next sample.
  void forget() noexcept { forget_.store(true, std::memory_order_relaxed); }

 private:
  /// The object's slot, else the slot of the least count.
  [[nodiscard]] Slot& slot_for(const DataObject* object) noexcept {
    Slot* least = &slots_[0];
    for (Slot& slot : slots_) {
      if (slot.object.load(std::memory_order_relaxed) == object) {
        return slot;
      }
      if (slot.tasks.load(std::memory_order_relaxed) < least->tasks.load(std::memory_order_relaxed)) {
        least = &slot;
      }
    }
    return *least;
  }

  std::array<Slot, kSlots> slots_{};
  std::atomic<bool> forget_{false};
};

}  // namespace mxkv::runtime

// The recollection bin of a value heap [LAS 5]: blocks that other workers released, on their way home.
//
// A stack of chains, linked through the dead blocks. A push is one compare-and-swap for a whole chain, and
// the owner takes everything with one exchange. Single blocks are never popped, so there is no ABA problem.
//
// How full the bin is decides when its owner is woken. The count goes up before a chain can be taken, and
// starts again from zero before chains are taken. So chains that come after a collection began add up to a
// wake-up of their own, and none is forgotten. Chains that were counted before and linked after are in the
// bin and not in the count, at most one for each worker.
#pragma once

#include <atomic>
#include <cstddef>

#include "runtime/base/assert.hpp"
#include "runtime/base/schedule.hpp"
#include "runtime/memory/poison.hpp"

namespace mxkv::runtime {

template <StepSchedule Schedule = FreeRunning>
class BasicRecollectionBin {
 public:
  /// Adds a chain of `bytes` in total, `first` to `last` linked by detail::write_link. Returns true when this
  /// push took the bin over `wake_bytes`: exactly one push does, until the owner collects. Any thread.
  [[nodiscard]] bool push(void* first, void* last, std::size_t bytes, std::size_t wake_bytes) noexcept {
    MXKV_DCHECK(first != nullptr && last != nullptr && bytes != 0, "a chain has blocks");
    // Relaxed: a count that decides when to wake.
    const std::size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    Schedule::point();
    void* top = top_.load(std::memory_order_relaxed);
    do {
      detail::write_link(last, top);
      Schedule::point();
      // Release: the links, and all that was done to the blocks; pairs with the acquire in take_all(). Later
      // pushes continue the release sequence.
    } while (!top_.compare_exchange_weak(top, first, std::memory_order_release, std::memory_order_relaxed));
    return before < wake_bytes && before + bytes >= wake_bytes;
  }

  /// Everything in the bin as one chain, or nullptr. Owner worker only.
  [[nodiscard]] void* take_all() noexcept {
    if (bytes_.load(std::memory_order_relaxed) != 0) {
      bytes_.store(0, std::memory_order_relaxed);
      Schedule::point();
    }
    if (top_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;  // spares the locked instruction when there is nothing, which is usual
    }
    Schedule::point();
    // Acquire: pairs with the release in push(). Release: the count is reset before.
    return top_.exchange(nullptr, std::memory_order_acq_rel);
  }

  /// Bytes in the bin, a recent value. Any thread.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<void*> top_{nullptr};
  std::atomic<std::size_t> bytes_{0};
};

using RecollectionBin = BasicRecollectionBin<>;

}  // namespace mxkv::runtime

// The recollection bin of a value heap [LAS 5]: blocks that other workers released, on their way home.
//
// A stack of chains, linked through the dead blocks: a push is one compare-and-swap for a whole chain, and
// the owner takes everything with one exchange. Since nobody pops single blocks there is no ABA problem.
// `Atomic` is a seam for tests that interleave the steps by hand.
#pragma once

#include <atomic>
#include <cstddef>

#include "runtime/memory/poison.hpp"

namespace mxkv::runtime {

template <template <class> class Atomic = std::atomic>
class BasicRecollectionBin {
 public:
  /// Adds a chain of `bytes` in total, `first` to `last` linked by detail::write_link. Returns true when this
  /// push took the bin over `wake_bytes`: exactly one push does, until the owner collects. Any thread.
  [[nodiscard]] bool push(void* first, void* last, std::size_t bytes, std::size_t wake_bytes) noexcept {
    // Relaxed: a count that decides when to wake. Counted first, so that subtract() never goes below zero:
    // the release below makes it visible with the chain.
    const std::size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    void* top = top_.load(std::memory_order_relaxed);
    do {
      detail::write_link(last, top);
      // Release: the links, and all that was done to the blocks; pairs with the acquire in take_all(). Later
      // pushes continue the release sequence.
    } while (!top_.compare_exchange_weak(top, first, std::memory_order_release, std::memory_order_relaxed));
    return before < wake_bytes && before + bytes >= wake_bytes;
  }

  /// Everything in the bin as one chain, or nullptr. Owner worker only.
  [[nodiscard]] void* take_all() noexcept {
    if (top_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;  // spares the locked instruction when there is nothing, which is usual
    }
    return top_.exchange(nullptr, std::memory_order_acquire);  // pairs with the release in push()
  }

  /// Tells that chains of `bytes` in total were collected. Owner worker only.
  void subtract(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// Bytes in the bin, a recent value. Any thread.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  Atomic<void*> top_{nullptr};
  Atomic<std::size_t> bytes_{0};
};

using RecollectionBin = BasicRecollectionBin<>;

}  // namespace mxkv::runtime

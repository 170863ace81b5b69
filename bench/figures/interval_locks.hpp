// Locks on intervals as DomLock has them [To 4]: a small array of the intervals that are held or wanted, an
// entry a thread, under a spin lock. A thread whose interval overlaps an earlier entry waits until that entry
// is removed. Readers share. A thread waits only for earlier entries, so there is no cycle.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/base/cache_line.hpp"
#include "runtime/hierarchy/slots.hpp"

namespace mxkv::bench {

/// Leaves of a hierarchy, by their ordinals: locks treat a node as such an interval.
using LeafInterval = runtime::SlotInterval;

/// Thread-safety: each thread with its own number.
class IntervalLocks {
 public:
  explicit IntervalLocks(std::size_t threads) : entries_(threads) {}

  void lock(std::size_t thread, const LeafInterval& leaves, bool writes) noexcept {
    while (latch_.test_and_set(std::memory_order_acquire)) {
      wait_a_little();
    }
    Entry& own = entries_[thread];
    for (const Entry& other : entries_) {
      const std::uint64_t turn = other.turn.load(std::memory_order_acquire);  // as below
      const bool conflicts = turn % 2 == 1 && (writes || other.writes) && other.leaves.overlaps(leaves);
      own.waits_for[static_cast<std::size_t>(&other - entries_.data())] = conflicts ? turn : kNobody;
    }
    own.leaves = leaves;
    own.writes = writes;
    own.turn.store(own.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    latch_.clear(std::memory_order_release);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      // pairs with the release in unlock()
      while (own.waits_for[i] != kNobody &&
             entries_[i].turn.load(std::memory_order_acquire) == own.waits_for[i]) {
        wait_a_little();
      }
    }
  }
  void unlock(std::size_t thread) noexcept {
    std::atomic<std::uint64_t>& turn = entries_[thread].turn;
    turn.store(turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kMostThreads = 256;
  static constexpr std::uint64_t kNobody = 0;  // real turns are odd
  struct alignas(runtime::kCacheLineBytes) Entry {
    std::atomic<std::uint64_t> turn{0};  ///< odd: held or wanted
    LeafInterval leaves;
    bool writes = false;
    std::vector<std::uint64_t> waits_for = std::vector<std::uint64_t>(kMostThreads, kNobody);
  };

  /// Yields, because there may be more threads than processors, and the interval's holder has to run.
  static void wait_a_little() noexcept { std::this_thread::yield(); }

  std::atomic_flag latch_;
  std::vector<Entry> entries_;
};

}  // namespace mxkv::bench

#include "runtime/epoch/epoch_manager.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/probe.hpp"

namespace mxkv::runtime {

EpochManager::EpochManager(std::size_t workers)
    : workers_(workers), states_(std::make_unique<State[]>(workers)) {
  MXKV_ASSERT(workers > 0, "an epoch manager serves at least one worker");
}

void EpochManager::enter(WorkerId worker) noexcept {
  State& state = states_[worker.index()];
  const std::uint64_t now = global_.load(std::memory_order_acquire);
  const std::uint64_t before = state.epoch.load(std::memory_order_relaxed);
  if (before == now) {
    return;
  }
  MXKV_ASSERT(before == kInfinity || before < now, "no worker is ahead of the global epoch");
  // The release orders this epoch's reads and pins before the new publication; pairs with least_published().
  state.epoch.store(now, std::memory_order_release);
  if (before == kInfinity) {
    // From infinity the reclaimer counted on us holding nothing. So our publication must be visible before
    // our first read. If the epoch moved meanwhile we take the newer one.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint64_t again = global_.load(std::memory_order_acquire);
    if (again != now) {
      state.epoch.store(again, std::memory_order_release);
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
}

void EpochManager::leave(WorkerId worker) noexcept {
  states_[worker.index()].epoch.store(kInfinity, std::memory_order_release);  // pairs with least_published()
}

std::uint64_t EpochManager::least_published() const noexcept {
  std::uint64_t least = kInfinity;
  for (std::size_t i = 0; i < workers_; ++i) {
    least = std::min(least, states_[i].epoch.load(std::memory_order_acquire));  // pairs with enter(), leave()
  }
  return least;
}

bool EpochManager::drained(std::uint64_t epoch) const noexcept {
  const std::size_t slot = epoch % kSlots;
  std::uint64_t left = 0;
  std::uint64_t entered = 0;
  for (std::size_t i = 0; i < workers_; ++i) {
    left += states_[i].left[slot].load(std::memory_order_acquire);  // pairs with unpin()
  }
  for (std::size_t i = 0; i < workers_; ++i) {
    entered += states_[i].entered[slot].load(std::memory_order_relaxed);
  }
  MXKV_ASSERT(left <= entered, "a pin is left once");  // a sum of later values
  return left == entered;
}

bool EpochManager::try_advance() noexcept {
  std::uint64_t now = global_.load(std::memory_order_acquire);
  const std::uint64_t next = now + 1;
  heavy_fence();  // step 2 of the argument in the header: `now` was seen, so older stamps are settled
  // The slot of `next` was last used kSlots epochs ago. No worker may still enter there, nor be in it.
  if (next > kSlots) {
    const std::uint64_t reused = next - kSlots;
    if (least_published() <= reused || !drained(reused)) {
      return false;
    }
  }
  const bool moved =
      global_.compare_exchange_strong(now, next, std::memory_order_acq_rel);  // pairs with enter()
  if (moved) {
    MXKV_PROBE1(epoch_advance, next);
  }
  return moved;
}

std::uint64_t EpochManager::horizon() const noexcept {
  heavy_fence();  // a worker that went from infinity to an epoch is seen, or sees the unlinks
  const std::uint64_t now = global_.load(std::memory_order_acquire);
  const std::uint64_t closed = std::min(now, least_published());  // no worker enters below this any more
  MXKV_ASSERT(closed >= kFirst, "no worker publishes less than the first epoch");
  const std::uint64_t oldest = closed > kSlots ? closed - kSlots + 1 : kFirst;
  for (std::uint64_t epoch = oldest; epoch < closed; ++epoch) {
    if (!drained(epoch)) {
      return epoch;
    }
  }
  return closed;
}

}  // namespace mxkv::runtime

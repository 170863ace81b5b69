// The thief's side of a worker: pools are stolen whole, by their lease, and given back [MK 5].
//
// A worker that has nothing to run takes the lease of one ready pool of the nearest worker that has one, as
// many tasks as its window holds, and gives the lease back when the last of them ran. Who owns the pool does
// not change. What such tasks spawn into their own pool meanwhile waits in the pool's list for its next
// holder. Pinned pools (the first of each worker) are never taken.
#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

bool Worker::steal() noexcept {
  ++first_stolen_;  // thieves, and one thief at its next visit, begin with another pool
  for (const WorkerId victim : neighbours_.victims) {
    const OwnedPools& pools = runtime_.worker(victim).pools_;
    const std::size_t stealable = pools.used() - 1;
    for (std::size_t turn = 0; turn < stealable; ++turn) {
      TaskPool* pool = pools.at(1 + (first_stolen_ + turn) % stealable);
      if (pool == nullptr || pool->state() != pool_state::ready || !pool->take()) {
        continue;
      }
      stolen_ = pool;
      leased_[pool->id().value()] = 1;
      const std::uint32_t taken = fill_from(*pool, kStolenTag);
      if (taken != 0) {
        count(counters_.pools_stolen);
        count(counters_.tasks_stolen, taken);
        return true;
      }
      return_stolen();  // its only task is still being linked, or there was none
    }
  }
  return false;
}

void Worker::return_stolen() noexcept {
  TaskPool& pool = *std::exchange(stolen_, nullptr);
  leased_[pool.id().value()] = 0;
  // Whoever spawned while it was leased told nobody.
  if (pool.give()) {
    runtime_.worker(pool.owner()).rouse();
  }
}

bool Worker::victims_ready() const noexcept {
  for (const WorkerId victim : neighbours_.victims) {
    const OwnedPools& pools = runtime_.worker(victim).pools_;
    for (std::size_t slot = 1; slot < pools.used(); ++slot) {
      const TaskPool* pool = pools.at(slot);
      if (pool != nullptr && pool->state() == pool_state::ready) {
        return true;
      }
    }
  }
  return false;
}

bool Worker::rouse_thief() noexcept {
  if (neighbours_.thieves.empty() || runtime_.parked_workers() == 0) {
    return false;
  }
  for (const WorkerId thief : neighbours_.thieves) {
    if (runtime_.worker(thief).rouse()) {
      return true;
    }
  }
  return false;
}

}  // namespace mxkv::runtime

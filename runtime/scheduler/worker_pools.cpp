// The tasks of a worker besides its own free ones: tasks of its pools, and of a pool that it stole.
#include <algorithm>

#include "runtime/base/probe.hpp"
#include "runtime/scheduler/rebalancing/moves.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

// Fills the buffer from the worker's own pools, and gives free tasks their quantum beside them.
void Worker::refill_from_pools() noexcept {
  if (leases_.stolen_ran()) {
    return_stolen();
  }
  const PrefetchBuffer& buffer = window_.buffer();
  const std::uint32_t before = buffer.size();
  const PoolLeases::LeaseOutcome seen = leases_.lease_each(
      !neighbours_.thieves.empty(), [&buffer] { return buffer.room() != 0; },
      [this](std::size_t slot, TaskPool& pool) { fill_from(pool, slot + 1); });
  if (seen.left_one && wake_thief()) {
    count(counters_.wakes);
  }
  window_.admit_quantum(buffer.size() > before, [this] { return leases_.tasks_in_buffer(); });
}

std::uint32_t Worker::fill_from(TaskPool& pool, std::size_t tag) noexcept {
  const std::uint32_t most = window_.share_of_a_pool();
  std::uint32_t taken = 0;
  if (heat_ != nullptr && window_.pools_may_enter()) [[unlikely]] {
    taken = fill_sampled(*this, window_, *heat_, pool, tag);
  }
  taken += window_.fill_from(pool, tag, most - taken);
  if (taken != 0) {
    pool.count_taken(taken);
    count(counters_.pool_tasks, taken);
  }
  return taken;
}

// A worker that has nothing to run takes the lease of one ready pool, of the nearest worker that has one. It
// takes as many tasks as its window holds, and gives the lease back when the last of them ran.
bool Worker::steal() noexcept {
  leases_.next_theft();  // thieves, and one thief at its next visit, begin with another pool
  const auto fill = [this](TaskPool& pool) {
    const std::uint32_t taken = fill_from(pool, PoolLeases::kStolenTag);
    if (taken == 0) {
      return_stolen();  // its only task is still being linked, or there was none
      return false;
    }
    count(counters_.pools_stolen);
    count(counters_.tasks_stolen, taken);
    MXKV_PROBE2(steal, id_.value(), taken);
    return true;
  };
  return std::ranges::any_of(neighbours_.victims, [this, &fill](WorkerId victim) {
    return leases_.steal_from(runtime_.worker(victim).leases_.owned(), fill);
  });
}

void Worker::return_stolen() noexcept {
  const PoolLeases::Returned returned = leases_.return_stolen();
  // Tasks that came while it was leased were announced to no worker.
  if (returned.ready) {
    runtime_.worker(returned.pool->owner()).wake_if_parked();
  }
}

}  // namespace mxkv::runtime

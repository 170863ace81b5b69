// What enters a worker's prefetch buffer from its pools, and beside them.
//
// A pool's task leaves the buffer when it ran: if it wants to run again, it goes through its pool. A free one
// keeps its place for as long as it goes on. So free tasks leave a quantum of places to the pools, and pools
// leave one to those free tasks that wait.
#include <algorithm>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

// Whether an own pool may fill the buffer: it is leased, now or before.
//
// A pool that may be stolen is leased for a term: what was taken from it runs, then it is given back, and
// what is left in it is for whoever looks first. One such pool is leased at each look, for fairness; further
// ones only where the window has room, so that a busy worker leaves the rest to thieves.
bool Worker::lease(std::size_t slot, TaskPool& pool, bool& leased_one, bool& left_one) noexcept {
  std::uint8_t& leased = leased_[pool.id().value()];
  if ((leased == 0 && pool.state() != pool_state::ready) || &pool == giving_ || &pool == stolen_) {
    return false;
  }
  const bool shared = slot != 0 && !neighbours_.thieves.empty();
  if (leased != 0) {
    if (!shared) {
      return true;
    }
    if (pool.in_buffer() != 0) {
      return false;
    }
    pool.give();
    leased = 0;
  }
  if (pool.state() != pool_state::ready) {
    return false;
  }
  if (shared && leased_one && buffer_.room() == 0) {
    left_one = true;
    return false;
  }
  if (!pool.take()) {
    return false;
  }
  leased = 1;
  leased_one = leased_one || shared;
  return true;
}

std::uint32_t Worker::fill_from(TaskPool& pool, std::size_t tag) noexcept {
  const std::uint32_t most = std::max(buffer_.room(), kPoolQuantum);
  const bool samples = heat_ != nullptr && buffer_.size() < filled_by_pools_;
  std::uint32_t taken = samples ? fill_sampled(pool, tag) : 0;
  for (; taken < most && buffer_.size() < filled_by_pools_; ++taken) {
    MxTask* task = pool.next_task();
    if (task == nullptr) {
      break;
    }
    pool.entered_buffer();
    buffer_.push(task, tag);
  }
  if (taken != 0) {
    pool.count_taken(taken);
    count(counters_.pool_tasks, taken);
  }
  return taken;
}

std::uint32_t Worker::pool_tasks_in_buffer() const noexcept {
  std::uint32_t tasks = stolen_ == nullptr ? 0 : stolen_->in_buffer();
  for (std::size_t slot = 0; slot < pools_.used(); ++slot) {
    const TaskPool* const pool = pools_.at(slot);
    tasks += pool != nullptr && pool != stolen_ && leases(pool->id()) ? pool->in_buffer() : 0;
  }
  return tasks;
}

void Worker::refill_from_pools() noexcept {
  if (stolen_ != nullptr && stolen_->in_buffer() == 0) {
    return_stolen();
  }
  const std::uint32_t before = buffer_.size();
  bool leased_one = false;
  bool left_one = false;
  // Begin with another pool each time: when all are busy, the buffer is full before the last one's turn.
  const std::size_t slots = pools_.used();
  first_refilled_ = first_refilled_ + 1 < slots ? first_refilled_ + 1 : 0;
  for (std::size_t turn = 0; turn < slots; ++turn) {
    const std::size_t shifted = first_refilled_ + turn;
    const std::size_t slot = shifted < slots ? shifted : shifted - slots;
    TaskPool* pool = pools_.at(slot);
    if (pool != nullptr && lease(slot, *pool, leased_one, left_one)) {
      fill_from(*pool, slot + 1);
      if (pool->idle()) {
        pool->give();
        leased_[pool->id().value()] = 0;
      }
    }
  }
  if (left_one && rouse_thief()) {
    count(counters_.wakes);
  }
  // Where pools, or tasks that respawn without end, fill the window by themselves, waiting free tasks get a
  // quantum, as a pool does: at once in the first case, now and then in the second.
  const bool by_pools = buffer_.size() > before;
  if (buffer_.room() == 0 && (by_pools || ++full_looks_ % kFullLooks == 0)) {
    std::uint32_t free = buffer_.size() - pool_tasks_in_buffer();
    for (std::uint32_t taken = 0;
         taken < kPoolQuantum && buffer_.size() < buffered_at_most_ && free < free_at_most_;
         ++taken, ++free) {
      MxTask* task = ready_.pop_front();
      if (task == nullptr) {
        break;
      }
      buffer_.push(task);
    }
  }
}

}  // namespace mxkv::runtime

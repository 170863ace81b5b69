// Immediate and deferred tasks: where they wait, in which order a worker takes them, and whom it wakes [LAS
// 4].
//
//   immediate   a queue a worker        deferred   a queue a core group, by request
//
// A worker takes the first that there is (the five rules of 4.2):
//   1  the youngest immediate task of its own
//   2  the oldest immediate task of another worker of its core group, by increasing cache distance
//   3  the youngest deferred task of the oldest request of its group
//   4  the oldest deferred task of the second oldest request of another group, by increasing NUMA distance
//   5  the oldest immediate task of a worker of another group on its node, in turn
// With task_order::nls the whole machine is one group whose deferred tasks go in the order that they were
// spawned in, and rule 2 is gone: 1, 3, 5 are then the rules of the baseline [LAS 6.1].
//
// What a worker runs sits in its prefetch buffer and executes there first in, first out: these rules order
// what enters. Rule 1 fills the window, and each kEldest-th task it takes is its oldest, so that a worker
// that spawns without end comes to all. Rule 3 adds one
// task a look while few others are there: deferred tasks are large, and what they keep waiting is not. The
// others are for a worker that has nothing.
#include <algorithm>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

namespace {

constexpr std::uint64_t kEldest = 16;
/// Deferred tasks enter where fewer tasks than this are in the buffer.
constexpr std::uint32_t kFew = 4;

}  // namespace

void Worker::spawn_by_locality(MxTask* task) noexcept {
  const bool is_deferred = task->annotations().locality == locality::deferred;
  if (is_deferred) {
    runtime_.deferred_queue(locality_order_.group).push(task);
  } else {
    immediate_.push(task);
  }
  if (rouse_first_of(is_deferred ? locality_order_.wake_deferred : locality_order_.wake_immediate)) {
    count(counters_.wakes);
  }
}

bool Worker::offer_deferred(MxTask* task) noexcept {
  runtime_.deferred_queue(locality_order_.group).push(task);
  return rouse() || rouse_first_of(locality_order_.wake_deferred);
}

// Takes a task into the buffer: from here on it is this worker's. Null: no task.
bool Worker::adopt(MxTask* task, std::atomic<std::uint64_t>& by_rule) noexcept {
  if (task == nullptr) {
    return false;
  }
  task->annotate(locality::here);
  buffer_.push(task);
  count(by_rule);
  return true;
}

MxTask* Worker::own_immediate() noexcept {
  return ++immediate_taken_ % kEldest == 0 ? immediate_.take_oldest() : immediate_.take_youngest();
}

MxTask* Worker::own_deferred() noexcept {
  return runtime_.deferred_queue(locality_order_.group)
      .take(runtime_.options().order == task_order::nls ? DeferredQueue::pick::oldest_spawned
                                                        : DeferredQueue::pick::youngest_of_oldest);
}

MxTask* Worker::immediate_of(const std::vector<WorkerId>& others) const noexcept {
  for (const WorkerId other : others) {
    if (MxTask* task = runtime_.worker(other).immediate_.take_oldest()) {
      return task;
    }
  }
  return nullptr;
}

MxTask* Worker::immediate_in_turn() noexcept {
  const std::vector<WorkerId>& others = locality_order_.node_mates;
  for (std::size_t looked = 0; looked < others.size(); ++looked) {
    const std::size_t i = (next_node_mate_ + looked) % others.size();
    if (MxTask* task = runtime_.worker(others[i]).immediate_.take_oldest()) {
      next_node_mate_ = i;
      return task;
    }
  }
  return nullptr;
}

void Worker::refill_by_locality() noexcept {
  const auto has_few = [this] { return buffer_.size() < kFew && buffer_.room() > 0; };
  if (!has_few() && ++crowded_looks_ % kFullLooks == 0 && buffer_.size() < buffered_at_most_) {
    // Tasks that respawn without end may fill the buffer for ever: one of each kind enters all the same.
    if (buffer_.room() == 0) {
      adopt(immediate_.take_oldest(), counters_.refills[0]);
    }
    adopt(own_deferred(), counters_.refills[2]);
  }
  while (buffer_.room() > 0 && immediate_.waiting() && adopt(own_immediate(), counters_.refills[0])) {
  }
  if (buffer_.empty() && adopt(immediate_of(locality_order_.group_mates), counters_.refills[1])) {
    return;
  }
  if (has_few()) {
    adopt(own_deferred(), counters_.refills[2]);
  }
  for (const std::size_t group : locality_order_.far_groups) {
    if (!buffer_.empty()) {
      return;
    }
    adopt(runtime_.deferred_queue(group).take(DeferredQueue::pick::oldest_of_second_oldest),
          counters_.refills[3]);
  }
  if (buffer_.empty()) {
    adopt(immediate_in_turn(), counters_.refills[4]);
  }
}

bool Worker::own_locality_waits() const noexcept {
  return immediate_.waiting() || runtime_.deferred_queue(locality_order_.group).waiting();
}

bool Worker::locality_waiting() const noexcept {
  const auto immediate = [this](WorkerId other) { return runtime_.worker(other).immediate_.waiting(); };
  const auto deferred = [this](std::size_t group) { return runtime_.deferred_queue(group).waiting(); };
  return immediate_.waiting() || deferred(locality_order_.group) ||
         std::ranges::any_of(locality_order_.group_mates, immediate) ||
         std::ranges::any_of(locality_order_.far_groups, deferred) ||
         std::ranges::any_of(locality_order_.node_mates, immediate);
}

bool Worker::rouse_first_of(const std::vector<WorkerId>& others) noexcept {
  return runtime_.parked_workers() != 0 &&
         std::ranges::any_of(others, [this](WorkerId other) { return runtime_.worker(other).rouse(); });
}

}  // namespace mxkv::runtime

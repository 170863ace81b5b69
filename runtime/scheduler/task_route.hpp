// Where a task goes when it is spawned: pure functions of its annotations [Mx fig. 5, scheduler side].
//
// The order is fixed: a place first, then the pool of the object, then how near to its spawner the task runs,
// then its priority. A worker knows the way; the queues at its end are parts of it, or of other workers.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// The ways that a task can go from its spawner.
enum class task_route : std::uint8_t {
  to_place,      ///< another worker, a core group, a NUMA node or a pool, as its target says
  to_pool,       ///< the pool of its object
  to_immediate,  ///< the worker's immediate tasks
  to_deferred,   ///< the deferred tasks of the worker's group
  to_low,        ///< the worker's tasks of low priority
  to_urgent,     ///< straight into the worker's window
  to_ready,      ///< behind the tasks that wait for the worker's window
};

/// Whether the task runs under the lease of its object's pool. Thread-safety: the task's holder.
[[nodiscard]] inline bool is_bound(const MxTask& task) noexcept {
  const primitive how = task.object().synchronization();
  return how == primitive::serialized_by_scheduling ||
         (how == primitive::optimistic_scheduling && task.annotations().access == access::write);
}

/// Whether the task belongs to any worker that has it, whatever its access: then it may keep its place.
/// Cheaper than is_bound(), and stricter. Thread-safety: the task's holder.
[[nodiscard]] inline bool keeps_its_place(const MxTask& task) noexcept {
  // The primitives that may bind a task are odd, the others even.
  static_assert((static_cast<unsigned>(primitive::serialized_by_scheduling) & 1U) == 1 &&
                (static_cast<unsigned>(primitive::optimistic_scheduling) & 1U) == 1 &&
                (static_cast<unsigned>(primitive::optimistic_latch) & 1U) == 0 &&
                (static_cast<unsigned>(primitive::spin_latch) & 1U) == 0 &&
                (static_cast<unsigned>(primitive::reader_writer_latch) & 1U) == 0);
  return task.annotations().target == Annotations::kAnyWorker &&
         (static_cast<unsigned>(task.object().synchronization()) & 1U) == 0;
}

/// The way of a task on the worker that it was sent to: its target does not count any more.
[[nodiscard]] inline task_route route_here(const MxTask& task) noexcept {
  const Annotations& notes = task.annotations();
  if (is_bound(task)) {
    return task_route::to_pool;
  }
  if (notes.locality != locality::here) [[unlikely]] {
    return notes.locality == locality::deferred ? task_route::to_deferred : task_route::to_immediate;
  }
  switch (notes.priority) {
    case priority::low:
      return task_route::to_low;
    case priority::high:
      return task_route::to_urgent;
    case priority::normal:
      break;
  }
  MXKV_DCHECK(notes.waits_its_turn(), "a task without a special way is a usual one");
  return task_route::to_ready;
}

/// The way of a task that worker `self` spawns.
[[nodiscard]] inline task_route route_of(const MxTask& task, WorkerId self) noexcept {
  const std::uint16_t target = task.annotations().target;
  return target != Annotations::kAnyWorker && target != self.value() ? task_route::to_place
                                                                     : route_here(task);
}

}  // namespace mxkv::runtime

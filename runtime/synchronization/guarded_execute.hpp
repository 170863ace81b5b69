// Guarded execution: the worker side of [Mx fig. 5]. Wraps one task in the synchronisation that its data
// object asks for, and returns what the task wants next. It spawns nothing and knows no scheduler.
//
// task_shapes.hpp has the shapes of task classes; the compiler checks which of them a class has.
#pragma once

#include <concepts>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/synchronization/latched/latched_execute.hpp"
#include "runtime/synchronization/optimistic.hpp"
#include "runtime/synchronization/task_shapes.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Looks at a held object this often before the task is put behind other work. The holder may have been
/// preempted, and spinning on it would only keep it from running.
inline constexpr unsigned kOptimisticTries = 16;

namespace detail {

enum class read_outcome : std::uint8_t { consistent, conflict, busy };

/// The read half: fills `scratch` and remembers the version. `unvalidated`: no writer can be about.
template <SplitTask T>
read_outcome inspect_consistently(T& task, const DataObject& object, typename T::Scratch& scratch,
                                  bool unvalidated) noexcept {
  if (task.staged()) {
    const OptimisticRead read{object, task.seen_version()};
    task.inspect(read, scratch);
    return read.valid() ? read_outcome::consistent : read_outcome::conflict;
  }
  for (unsigned i = 0; i < kOptimisticTries; ++i) {
    const OptimisticRead read{object};
    if (!read.locked()) {
      task.inspect(read, scratch);
      if (unvalidated || read.valid()) {
        task.see_version(read.version());
        return read_outcome::consistent;
      }
    }
    cpu_relax();
  }
  return read_outcome::busy;
}

/// The read half under a spin latch or a shared one. The version changes by writes only, so that a later
/// stage finds what it saw.
template <SplitTask T>
read_outcome inspect_latched(T& task, DataObject& object, typename T::Scratch& scratch) noexcept {
  if (object.synchronization() == primitive::reader_writer_latch) {
    const SharedLatch latch = SharedLatch::acquire(object, kOptimisticTries);
    return latch ? inspect_consistently(task, HeldVersion{latch.version()}.object(), scratch, true)
                 : read_outcome::busy;
  }
  WriteLatch latch = WriteLatch::acquire(object, kOptimisticTries);
  if (!latch) {
    return read_outcome::busy;
  }
  const read_outcome outcome =
      inspect_consistently(task, HeldVersion{latch.version()}.object(), scratch, true);
  latch.release_unchanged();
  return outcome;
}

/// The read half, as the object's primitive asks.
template <SplitTask T, std::predicate<PoolId> LeasesPool>
[[gnu::always_inline]] inline read_outcome inspect(T& task, DataObject& object, typename T::Scratch& scratch,
                                                   primitive how, const LeasesPool& leases_pool) noexcept {
  if constexpr (objects_are_optimistic<T>()) {
    return inspect_consistently(task, object, scratch, false);
  } else if (readers_latch(how)) {
    return inspect_latched(task, object, scratch);
  } else {
    // Every writer of such an object runs in its pool, if it always was one; where the lease is ours none can be
    // running.
    const bool unvalidated =
        how == primitive::serialized_by_scheduling ||
        (how == primitive::optimistic_scheduling && leases_pool(task.object().pool_hint()) &&
         object.lives_in(task.object().pool_hint()) && !object.adapts());
    return inspect_consistently(task, object, scratch, unvalidated);
  }
}

/// Takes the latch from the version that was read, or, where readers take it too, has it from the start; then
/// prepare() finds the version word as seen_version() says.
template <UpgradingTask T>
step write_by_upgrade(T& task, DataObject& object, Worker& worker, primitive how) {
  const bool latched = !objects_are_optimistic<T>() && readers_latch(how);
  WriteLatch latch = latched ? WriteLatch::acquire(object, kOptimisticTries) : WriteLatch::none();
  if (latched && !latch) [[unlikely]] {
    return step::retry;
  }
  MXKV_PATH(guarded_write);
  typename T::Scratch scratch;
  const HeldVersion held{latch.version()};
  switch (inspect_consistently(task, latched ? held.object() : object, scratch, false)) {
    case read_outcome::conflict:
      MXKV_PATH(guarded_conflict);
      latch.release_unchanged();
      return task.conflict(worker);
    case read_outcome::busy:
      MXKV_PATH(guarded_busy);
      return step::retry;
    case read_outcome::consistent:
      break;
  }
  if (latched) [[unlikely]] {
    task.see_version(latch.version() | 1U);
  }
  step otherwise = step::done;
  if (!task.prepare(scratch, worker, otherwise)) {
    if (latched && otherwise != step::parked) [[unlikely]] {  // a parked task has another holder already
      task.see_version(latch.version());
    }
    latch.release_unchanged();
    return otherwise;
  }
  if (!latched && !latch.take_from(object, task.seen_version())) {
    MXKV_PATH(guarded_conflict);
    task.abandon(scratch, worker);
    if constexpr (requires { task.met_writer(worker); }) {
      task.met_writer(worker);
    }
    return task.conflict(worker);
  }
  task.apply(scratch, worker);
  latch.release();
  return task.finish(scratch, worker);
}

}  // namespace detail

/// Runs `task` under the primitive of its object. `leases_pool(PoolId)` tells whether this worker holds the
/// lease of a pool; it is asked only where the answer matters. Thread-safety: owner worker only.
template <GuardedTask T, std::predicate<PoolId> LeasesPool>
step guarded_execute(T& task, Worker& worker, const LeasesPool& leases_pool) {
  const primitive how = task.object().synchronization();
  MXKV_DCHECK(!objects_are_optimistic<T>() || how == primitive::none || how == primitive::optimistic_latch ||
                  how == primitive::optimistic_scheduling,
              "a class keeps its promise");
  if constexpr (ExecutingTask<T>) {
    if (how == primitive::none || how == primitive::serialized_by_scheduling) {
      return task.execute(worker);
    }
  } else if (how == primitive::none) {
    typename T::Scratch scratch;
    return task.resume(scratch, worker);
  }
  DataObject& object = *task.object().object();
  if constexpr (SplitTask<T>) {
    if (task.annotations().access == access::readonly) {
      MXKV_PATH(guarded_read);
      typename T::Scratch scratch;
      switch (detail::inspect(task, object, scratch, how, leases_pool)) {
        case detail::read_outcome::conflict:
          MXKV_PATH(guarded_conflict);
          return task.conflict(worker);
        case detail::read_outcome::busy:
          MXKV_PATH(guarded_busy);
          return step::retry;
        case detail::read_outcome::consistent:
          break;
      }
      return task.resume(scratch, worker);
    }
    if constexpr (UpgradingTask<T>) {
      // A serialized object's latch is free; its version tells later stages of a task that this one wrote.
      return detail::write_by_upgrade(task, object, worker, how);
    }
  }
  if constexpr (ExecutingTask<T>) {
    return detail::execute_latched(task, object, worker, kOptimisticTries);
  } else {
    MXKV_ASSERT(false, "a task that writes must offer execute() or prepare(), apply() and finish()");
  }
}

}  // namespace mxkv::runtime

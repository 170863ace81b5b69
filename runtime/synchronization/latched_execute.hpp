// Guarded execution of tasks in halves whose object has a latch: the latch is held around inspect(), and for
// writes around inspect(), prepare() and apply(), as [Mx fig. 5] wraps a whole task. What comes after,
// resume() and finish(), goes by what was read, and needs no latch. Nobody waits: after some tries the task
// is put behind other work, since the holder may have been preempted.
#pragma once

#include "runtime/synchronization/shared_latch.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime::detail {

enum class read_outcome : std::uint8_t { consistent, conflict, busy };

/// For reads under a latch: an object that nobody writes.
inline const DataObject kNeverWritten{PoolId{0}, primitive::none};

template <class T, class Latch>
read_outcome inspect_held(T& task, typename T::Scratch& scratch, const Latch& latch) noexcept {
  if (!latch) {
    return read_outcome::busy;
  }
  if (task.staged() && task.seen_version() != latch.version()) {
    return read_outcome::conflict;
  }
  task.inspect(OptimisticRead{kNeverWritten}, scratch);
  task.see_version(latch.version());
  return read_outcome::consistent;
}

/// The read half under a spin latch or a shared one. The version changes by writes only, so that a later
/// stage finds what it saw.
template <class T>
read_outcome inspect_latched(T& task, DataObject& object, typename T::Scratch& scratch, bool shared,
                             unsigned tries) noexcept {
  if (shared) {
    return inspect_held(task, scratch, SharedLatch::acquire(object, tries));
  }
  WriteLatch latch = WriteLatch::acquire(object, tries);
  const read_outcome outcome = inspect_held(task, scratch, latch);
  latch.release_unchanged();
  return outcome;
}

/// A write under an exclusive latch. prepare() finds the version word as seen_version() says.
template <class T>
step write_latched(T& task, DataObject& object, Worker& worker, unsigned tries) {
  WriteLatch latch = WriteLatch::acquire(object, tries);
  typename T::Scratch scratch;
  switch (inspect_held(task, scratch, latch)) {
    case read_outcome::busy:
      return step::retry;
    case read_outcome::conflict:
      latch.release_unchanged();
      return task.conflict(worker);
    case read_outcome::consistent:
      break;
  }
  task.see_version(latch.version() | 1U);
  step otherwise = step::done;
  if (!task.prepare(scratch, worker, otherwise)) {
    if (otherwise != step::parked) {  // else the task is someone else's already
      task.see_version(latch.version());
    }
    latch.release_unchanged();
    return otherwise;
  }
  task.apply(scratch, worker);
  latch.release();
  return task.finish(scratch, worker);
}

/// Runs execute() under the latch that its access asks for.
template <class T>
step execute_latched(T& task, DataObject& object, Worker& worker, unsigned tries) {
  if (object.synchronization() == primitive::reader_writer_latch &&
      task.annotations().access == access::readonly) {
    const SharedLatch latch = SharedLatch::acquire(object, tries);
    return latch ? task.execute(worker) : step::retry;
  }
  const WriteLatch latch = WriteLatch::acquire(object, tries);
  return latch ? task.execute(worker) : step::retry;
}

}  // namespace mxkv::runtime::detail

// Guarded execution of tasks in halves on an object with a latch. The latch is held around inspect(), for
// writes also around prepare() and apply(), as [Mx fig. 5] wraps a whole task. resume() and finish() come
// after it, use only the values that were read, and need no latch. No worker waits: after some tries the task
// is put behind other work, since the holder may have been preempted.
#pragma once

#include "runtime/synchronization/latched/shared_latch.hpp"
#include "runtime/synchronization/task_shapes.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime::detail {

[[nodiscard]] constexpr bool readers_latch(primitive how) noexcept {
  return how == primitive::spin_latch || how == primitive::reader_writer_latch;
}

/// A task under a latch validates its reads against this, in place of the object. It is not written, and has
/// the object's version but for the latch. So one code reads latched and unlatched objects.
class HeldVersion {
 public:
  explicit HeldVersion(std::uint64_t version) noexcept : object_(PoolId{0}, primitive::none) {
    object_.version().store(version, std::memory_order_relaxed);
  }
  [[nodiscard]] const DataObject& object() const noexcept { return object_; }

 private:
  DataObject object_;
};

/// Runs execute() under the latch that its access asks for.
template <ExecutingTask T>
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

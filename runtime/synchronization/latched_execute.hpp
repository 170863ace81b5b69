// Guarded execution of tasks in halves whose object has a latch: the latch is held around inspect(), and for
// writes around inspect(), prepare() and apply(), as [Mx fig. 5] wraps a whole task. What comes after,
// resume() and finish(), goes by what was read, and needs no latch. Nobody waits: after some tries the task
// is put behind other work, since the holder may have been preempted.
#pragma once

#include "runtime/synchronization/shared_latch.hpp"
#include "runtime/synchronization/task_shapes.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime::detail {

[[nodiscard]] constexpr bool readers_latch(primitive how) noexcept {
  return how == primitive::spin_latch || how == primitive::reader_writer_latch;
}

/// What a task under a latch validates its reads against, in place of the object: nobody writes it, and it
/// has the version that the object has but for the latch. So one code reads latched and unlatched objects.
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

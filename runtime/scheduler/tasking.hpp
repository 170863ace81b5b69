// The programming interface of [Mx fig. 2], as printed: create_resource, create_task, annotate, spawn.
//
// The functions find the worker that the calling task runs on by a thread-local context. Threads outside of
// the runtime use Runtime::create_outside() and Runtime::submit().
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::tasking {

using runtime::access;
using runtime::access_frequency;
using runtime::after;
using runtime::before;
using runtime::DependentTask;
using runtime::isolation;
using runtime::Join;
using runtime::MxTask;
using runtime::primitive;
using runtime::priority;
using runtime::rw_ratio;
using runtime::step;
using runtime::TaggedPointer;
using runtime::Worker;

/// The worker that runs the calling task. Thread-safety: inside tasks only.
[[nodiscard]] inline Worker& this_worker() noexcept {
  Worker* worker = Worker::current();
  MXKV_ASSERT(worker != nullptr, "tasking:: functions are for tasks; other threads use Runtime::submit()");
  return *worker;
}

/// A pointer to a data object of type T, as create_resource() returns it.
template <std::derived_from<runtime::DataObject> T>
class ResourcePointer : public TaggedPointer {
 public:
  ResourcePointer() noexcept = default;
  explicit ResourcePointer(TaggedPointer tagged) noexcept : TaggedPointer(tagged) {}
  [[nodiscard]] T* get() const noexcept { return static_cast<T*>(object()); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
};

/// Makes a data object on this worker's node memory, synchronised by the given primitive. T's constructor
/// takes (PoolId, primitive, args...). Empty when the memory limit is reached.
template <std::derived_from<runtime::DataObject> T, class... Args>
[[nodiscard]] ResourcePointer<T> create_resource(primitive how, Args&&... args) {
  Worker& worker = this_worker();
  // Whole lines: the value heap aligns a block to a line only if its size is a multiple of one.
  constexpr std::size_t kLines = (sizeof(T) + runtime::kCacheLineBytes - 1) / runtime::kCacheLineBytes;
  void* memory = worker.nodes().allocate(kLines * runtime::kCacheLineBytes);
  if (memory == nullptr) {
    return {};
  }
  const runtime::PoolId pool = worker.runtime().pool_for_object(worker.id(), worker.random()());
  T* object = new (memory) T(pool, how, std::forward<Args>(args)...);
  return ResourcePointer<T>{TaggedPointer{object, 0}};
}

/// Makes a data object that is synchronised as its annotations ask.
template <std::derived_from<runtime::DataObject> T, class... Args>
[[nodiscard]] ResourcePointer<T> create_resource(isolation level, rw_ratio ratio, access_frequency frequency,
                                                 Args&&... args) {
  return create_resource<T>(runtime::select_primitive(level, ratio, frequency), std::forward<Args>(args)...);
}

/// Frees a data object that no task refers to any more.
template <std::derived_from<runtime::DataObject> T>
void destroy_resource(ResourcePointer<T> resource) noexcept {
  resource->~T();
  this_worker().nodes().release(resource.get());
}

/// Makes a task of class T; its constructor takes (const TaskClass*, args...).
template <std::derived_from<MxTask> T, class... Args>
[[nodiscard]] T* create_task(Args&&... args) {
  return this_worker().create<T>(std::forward<Args>(args)...);
}

/// Spawns a task: asynchronous, latch-free. Returns the error for the place that it is annotated with; where
/// that does not exist, the task runs on this worker.
inline std::optional<runtime::Error> spawn(MxTask* task) {
  Worker& worker = this_worker();
  std::optional<runtime::Error> error;
  if (task->annotations().target != runtime::Annotations::kAnyWorker) [[unlikely]] {
    error = worker.runtime().check_target(*task);
  }
  worker.spawn(task);
  return error;
}

/// Spawns a task with dependencies: at once, or when the join that it waits for is complete. On an error (see
/// spawn_dependent()) nothing was spawned, and the task is still the caller's.
template <std::derived_from<DependentTask> T>
[[nodiscard]] runtime::Result<MxTask*> spawn(
    T* task, const std::source_location& where = std::source_location::current()) {
  return runtime::spawn_dependent(this_worker(), *task, where);
}

/// Makes a join: `annotate(before(join))` tasks that must be done until those start that are
/// `annotate(after(join))`. Tasks wait for joins that were created earlier than the join that counts them. The
/// creator closes it when all tasks it knows to come before are spawned; these may spawn further ones. It
/// releases the join when it will not refer to it any more.
[[nodiscard]] inline runtime::Result<Join*> create_join(std::string_view name) {
  return this_worker().runtime().joins().create(name);
}
inline void close(Join& join) noexcept {
  runtime::end_predecessor(this_worker(), join);
}
inline void release(Join& join) noexcept {
  runtime::release_join(this_worker(), join);
}

}  // namespace mxkv::tasking

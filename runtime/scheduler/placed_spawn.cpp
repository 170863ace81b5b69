// Spawning of tasks along their route, by workers and from outside.
//
// A task bound to an object runs in that object's pool, wherever that is. Its target counts only if it is a
// worker: then the task goes to the pool by way of that worker. A place where no worker runs is an error,
// which spawn returns to the caller. The task is not lost: it runs where it would run without the annotation,
// and `misplaced` counts it.
#include <algorithm>
#include <string>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

void Worker::spawn_slow(MxTask* task) noexcept {
  spawn_by(route_of(*task, id_), task);
}

void Worker::spawn_by(task_route route, MxTask* task) noexcept {
  switch (route) {
    case task_route::to_place:
      spawn_at_place(task);
      return;
    case task_route::to_pool:
      spawn_to(runtime_.pool(task->object().pool_hint()), task);
      return;
    case task_route::to_immediate:
      locality_.add_immediate(task);
      // wake_deferred has all whom wake_immediate has.
      count(
          counters_.wakes,
          wake_first_of(locality_.spills() ? neighbours_.wake_deferred : neighbours_.wake_immediate) ? 1 : 0);
      return;
    case task_route::to_deferred:
      locality_.add_deferred(task);
      count(counters_.wakes, wake_first_of(neighbours_.wake_deferred) ? 1 : 0);
      return;
    case task_route::to_low:
      count(counters_.low);
      window_.add_low(task);
      return;
    case task_route::to_urgent:
      count(counters_.urgent);
      window_.add_urgent(task);
      return;
    case task_route::to_ready:
      window_.add_ready(task);
      return;
  }
  MXKV_ASSERT(false, "a task goes one of the routes");
}

void Worker::spawn_to(TaskPool& pool, MxTask* task) noexcept {
  if (leases_.holds(pool.id())) {
    pool.spawn_locally(task);
    return;
  }
  if (retry_watch_.any()) [[unlikely]] {
    retry_watch_.forget(*task);  // from the push on it may run, and end, elsewhere
  }
  if (pool.spawn(task) && runtime_.announce(pool, this)) {
    count(counters_.wakes);
  }
}

void Worker::spawn_at_place(MxTask* task) noexcept {
  const Target target{task->annotations().target};
  MXKV_DCHECK(target != Target{id_}, "this worker is no place to go to");
  if (!runtime_.places().exists(target)) [[unlikely]] {
    count(counters_.misplaced);
    spawn_by(route_here(*task), task);
    return;
  }
  count(counters_.placed);
  if (target.kind() == target_kind::worker) {
    spawn_to(runtime_.worker(WorkerId{target.id()}).leases_.owned().pinned(), task);
    return;
  }
  if (is_bound(*task)) {
    spawn_by(task_route::to_pool, task);
    return;
  }
  if (target.kind() == target_kind::pool) {
    spawn_to(runtime_.pool(PoolId{target.id()}), task);
    return;
  }
  const WorkerId worker = runtime_.choose(target, id_, random_());
  if (worker == id_) {
    spawn_by(route_here(*task), task);
  } else {
    spawn_to(runtime_.worker(worker).leases_.owned().pinned(), task);
  }
}

bool Worker::offer_deferred(MxTask* task) noexcept {
  locality_.add_deferred(task);
  return wake_if_parked() || wake_first_of(neighbours_.wake_deferred);
}

WorkerId Runtime::choose(Target target, std::optional<WorkerId> self, std::uint64_t random) noexcept {
  const std::span<const WorkerId> candidates = places_.workers(target);
  // A worker of the place keeps the task: its lines, and the task's own, are near.
  if (self && std::binary_search(candidates.begin(), candidates.end(), *self)) {
    return *self;
  }
  return less_loaded_of_two(candidates, random, [this](WorkerId id) { return worker(id).load(); });
}

std::optional<Error> Runtime::check_target(const MxTask& task) const {
  const Target target{task.annotations().target};
  if (places_.exists(target)) {
    return {};
  }
  return Error{std::string{"task "} + task.task_class().name + ": " + places_.complaint(target).message};
}

std::optional<Error> Runtime::submit(MxTask* task, WorkerId worker) {
  std::optional<Error> error = check_target(*task);
  if (task->annotations().locality == locality::deferred &&
      task->annotations().target == Annotations::kAnyWorker) {
    this->worker(worker).offer_deferred(task);
    return error;
  }
  const Target target = error ? Target{Target::kAnywhere} : Target{task->annotations().target};
  TaskPool* pool = nullptr;
  switch (target.kind()) {
    case target_kind::pool:
      pool = &this->pool(PoolId{target.id()});
      break;
    case target_kind::worker:
      worker = WorkerId{target.id()};
      break;
    case target_kind::core_group:
    case target_kind::node:
      // Any spread will do: steps of the golden ratio.
      worker = choose(target, {}, submitted_.fetch_add(0x9E3779B97F4A7C15U, std::memory_order_relaxed));
      break;
    case target_kind::anywhere:
      break;
  }
  if (pool == nullptr) {
    pool = &this->pool(this->worker(worker).pinned_pool());
  }
  if (error) {
    misplaced_.fetch_add(1, std::memory_order_relaxed);
  }
  if (pool->spawn(task)) {
    announce(*pool, nullptr);
  }
  return error;
}

}  // namespace mxkv::runtime

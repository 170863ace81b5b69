// Spawning of tasks that are annotated with a place, by workers and from outside.
//
// A task bound to an object runs in that object's pool, wherever that is; of its places only a worker counts
// on the way. A place where nobody runs is an error at spawn that the caller is told of; the task is not
// lost: it runs where it would run without the annotation, and `misplaced` counts it.
#include <algorithm>
#include <string>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

void Worker::spawn_placed(MxTask* task, Target target) noexcept {
  const Places& places = runtime_.places();
  if (!places.exists(target)) [[unlikely]] {
    counters_.misplaced.store(counters_.misplaced.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
    spawn_here(task);
    return;
  }
  if (target.kind() == target_kind::worker) {
    spawn_to(runtime_.worker(WorkerId{target.id()}).pools_.pinned(), task);
    return;
  }
  if (is_bound(*task)) {
    spawn_bound(task);
    return;
  }
  if (target.kind() == target_kind::pool) {
    TaskPool& pool = runtime_.pool(PoolId{target.id()});
    if (leases(pool.id())) {
      pool.spawn_locally(task);
    } else {
      spawn_to(pool, task);
    }
    return;
  }
  const WorkerId worker = runtime_.choose(target, id_, random_());
  if (worker == id_) {
    spawn_here(task);
  } else {
    spawn_to(runtime_.worker(worker).pools_.pinned(), task);
  }
}

WorkerId Runtime::choose(Target target, std::optional<WorkerId> self, std::uint64_t random) noexcept {
  const std::span<const WorkerId> candidates = places_.workers(target);
  // Who is there already keeps the task: its lines, and the task's own, are near.
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

// How a pool gets another owner, and an object another pool, while tasks are spawned into them.
//
// A pool travels by two tasks. The task in the giver's pinned pool waits until no task of the pool is in the
// giver's buffer. It gives the lease back and takes the pool out of the giver's slots. The task in the
// taker's pinned pool puts the pool into the taker's slots and names the new owner. In between no worker
// looks at the pool, but no task is lost. The spawner that makes it ready reads the owner afterwards, and the
// taker looks at the pool after it stored the owner (both seq_cst). So the spawner tells the new owner, or
// the new owner sees the pool ready by itself. The taker cannot sleep meanwhile, since its pinned pool has a
// task.
//
// A thief may hold the lease all the while: the holder executes, the owner only looks and is notified.
#include "runtime/scheduler/rebalancing/moves.hpp"

#include "runtime/scheduler/rebalancing/rebalancer.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

namespace {

/// Takes over a pool that was given away to this worker.
void take_over(Worker& worker, TaskPool& pool) noexcept {
  worker.pool_leases().owned().add(pool);
  pool.set_owner(
      worker.id());  // pairs with Runtime::announce(); the next refill, or look before parking, follows
  count(worker.counters().pools_moved);
}

class TakeOverTask final : public MxTask {
 public:
  static constexpr const char* kName = "take over pool";
  TakeOverTask(const TaskClass* task_class, TaskPool& pool) noexcept : MxTask(task_class), pool_(&pool) {}
  step execute(Worker& worker) {
    take_over(worker, *pool_);
    return step::done;
  }
  /// The pool's tasks are to be dropped as well.
  void discard(Worker& worker) { take_over(worker, *pool_); }

 private:
  TaskPool* pool_;
};

/// Hands `pool` over to worker `to`, by a task in the pinned pool of `to`. False: not yet, tasks of the pool
/// are in the buffer; none enter it from now on, so ask again soon. A pool that is not here any more stays
/// where it is, and so does one for which `to` has no room.
[[nodiscard]] bool give_away(Worker& worker, TaskPool& pool, WorkerId to) noexcept {
  if (to == worker.id()) {
    return true;
  }
  OwnedPools& taker = worker.runtime().worker(to).pool_leases().owned();
  switch (worker.pool_leases().depart(pool, [&taker] { return taker.reserve(); })) {
    case PoolLeases::departure::waits:
      return false;
    case PoolLeases::departure::stays:
      return true;
    case PoolLeases::departure::left:
      break;
  }
  MxTask* const task = worker.create<TakeOverTask>(pool);
  task->annotate(to);
  worker.spawn(task);
  return true;
}

class HandOverTask final : public MxTask {
 public:
  static constexpr const char* kName = "hand over pool";
  HandOverTask(const TaskClass* task_class, TaskPool& pool, WorkerId to) noexcept
      : MxTask(task_class), pool_(&pool), to_(to) {}
  step execute(Worker& worker) { return give_away(worker, *pool_, to_) ? step::done : step::again; }

 private:
  TaskPool* pool_;
  WorkerId to_;
};

/// Runs among the tasks of the object's pool, right before one of the object.
class MoveObjectTask final : public MxTask {
 public:
  static constexpr const char* kName = "move object";
  MoveObjectTask(const TaskClass* task_class, DataObject& object, PoolId from, PoolId to) noexcept
      : MxTask(task_class), object_(&object), from_(from), to_(to) {
    annotate_lines(TaggedPointer::unsynchronized(&object), 0, 1);
  }
  step execute(Worker& worker) {
    move_object(worker, *object_, from_, to_);
    return step::done;
  }

 private:
  DataObject* object_;
  PoolId from_;
  PoolId to_;
};

}  // namespace

void send_pool(Worker& by, TaskPool& pool, WorkerId from, WorkerId to) noexcept {
  MxTask* task = by.create<HandOverTask>(pool, to);
  task->annotate(from);
  by.spawn(task);
}

bool move_object(Worker& worker, DataObject& object, PoolId from, PoolId to) noexcept {
  MXKV_ASSERT(worker.leases(from), "a move is a task in the old pool");
  if (object.pool() != from || from == to) {
    return false;
  }
  const bool latched = object.synchronization() != primitive::serialized_by_scheduling;
  const WriteLatch latch = latched ? WriteLatch::acquire(object, kOptimisticTries) : WriteLatch::none();
  if (latched && !latch) {
    return false;
  }
  object.move_to(to);
  count(worker.counters().objects_moved);
  return true;
}

// The first task of a fill stands for all tasks that the pool gave since its last sample.
std::uint32_t fill_sampled(Worker& worker, TaskWindow& window, ObjectHeat& heat, TaskPool& pool,
                           std::size_t tag) noexcept {
  MXKV_DCHECK(worker.leases(pool.id()), "tasks are taken under the lease");
  MxTask* const task = pool.next_task();
  if (task == nullptr) {
    return 0;
  }
  if (is_bound(*task)) {
    DataObject* const object = task->object().object();
    heat.count(object, pool.id(), pool.taken_since_sample());
    if (const std::optional<PoolId> to = worker.runtime().rebalancer()->claim(object, pool.id())) {
      window.add_from(pool, tag, worker.create<MoveObjectTask>(*object, pool.id(), *to));
    }
  }
  window.add_from(pool, tag, task);
  return 1;
}

}  // namespace mxkv::runtime

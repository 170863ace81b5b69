// How a pool gets another owner, and an object another pool, while tasks are spawned into them.
//
// A pool travels by two tasks: one in the giver's pinned pool, which waits until no task of the pool is in
// the giver's buffer, gives the lease back and takes the pool out of the giver's slots; one in the taker's,
// which puts it into the taker's slots and names the new owner. In between nobody looks at the pool, but no
// task is lost: whoever makes it ready reads the owner afterwards, and the taker looks at the pool after it
// stored the owner (both seq_cst). So the spawner tells the new owner, or that one sees the pool ready by
// itself. The taker cannot sleep meanwhile, since its pinned pool has a task.
//
// A thief may hold the lease all the while: it decides who executes, the owner only who looks and who is
// told.
#include "runtime/scheduler/moves.hpp"

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

namespace {

class TakeOverTask final : public MxTask {
 public:
  static constexpr const char* kName = "take over pool";
  TakeOverTask(const TaskClass* task_class, TaskPool& pool) noexcept : MxTask(task_class), pool_(&pool) {}
  step execute(Worker& worker) {
    worker.take_over(*pool_);
    return step::done;
  }
  /// The pool's tasks are to be dropped as well.
  void discard(Worker& worker) { worker.take_over(*pool_); }

 private:
  TaskPool* pool_;
};

class HandOverTask final : public MxTask {
 public:
  static constexpr const char* kName = "hand over pool";
  HandOverTask(const TaskClass* task_class, TaskPool& pool, WorkerId to) noexcept
      : MxTask(task_class), pool_(&pool), to_(to) {}
  step execute(Worker& worker) { return worker.give_away(*pool_, to_) ? step::done : step::again; }

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
    worker.move_object(*object_, from_, to_);
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

bool Worker::give_away(TaskPool& pool, WorkerId to) noexcept {
  const std::size_t slot = pools_.find(pool);
  if (slot == 0 || slot == pools_.used() || to == id_) {
    return true;
  }
  if (leases(pool.id())) {
    if (giving_ == nullptr) {
      giving_ = &pool;
    }
    if (giving_ != &pool || stolen_ == &pool || pool.in_buffer() != 0) {
      return false;
    }
    pool.give();
    leased_[pool.id().value()] = 0;
  }
  if (giving_ == &pool) {
    giving_ = nullptr;
  }
  Worker& taker = runtime_.worker(to);
  if (!taker.pools_.reserve()) {
    return true;
  }
  pools_.remove(slot);
  MxTask* task = create<TakeOverTask>(pool);
  task->annotate(to);
  spawn(task);
  return true;
}

void Worker::take_over(TaskPool& pool) noexcept {
  pools_.add(pool);
  pool.set_owner(id_);  // pairs with Runtime::announce(); the next refill, or look before parking, follows
  count(counters_.pools_moved);
}

bool Worker::move_object(DataObject& object, PoolId from, PoolId to) noexcept {
  MXKV_DCHECK(leases(from), "a move is a task in the old pool");
  if (object.pool() != from || from == to) {
    return false;
  }
  const bool latched = object.synchronization() != primitive::serialized_by_scheduling;
  const WriteLatch latch = latched ? WriteLatch::acquire(object, kOptimisticTries) : WriteLatch::none();
  if (latched && !latch) {
    return false;
  }
  object.move_to(to);
  count(counters_.objects_moved);
  return true;
}

// The first task of a fill stands for those that the pool gave since the last one that was looked at.
std::uint32_t Worker::fill_sampled(TaskPool& pool, std::size_t tag) noexcept {
  MxTask* task = pool.next_task();
  if (task == nullptr) {
    return 0;
  }
  if (is_bound(*task)) {
    DataObject* object = task->object().object();
    heat_->count(object, pool.id(), pool.taken_since_sample());
    if (const std::optional<PoolId> to = runtime_.rebalancer().claim(object, pool.id())) {
      pool.entered_buffer();
      buffer_.push(create<MoveObjectTask>(*object, pool.id(), *to), tag);
    }
  }
  pool.entered_buffer();
  buffer_.push(task, tag);
  return 1;
}

}  // namespace mxkv::runtime

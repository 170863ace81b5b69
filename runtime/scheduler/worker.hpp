// A worker: one thread's share of the runtime. It owns task pools, a prefetch buffer, heaps, an epoch and
// a poller, and executes tasks one after the other, each to completion [Mx 2.2, 4.3].
//
// step() is one round without a thread inside, so that a test can drive many workers in any order:
//   poll (sockets spawn tasks) -> execute a batch -> end the turn (replies leave) -> maintain memory.
// Inside the batch the order is first in, first out; a respawned task keeps its place in the prefetch buffer
// and new ones wait in a list until the window has room: finishing what was begun keeps the working set in
// cache. Tasks of low priority enter only when nothing else does.
//
// Idle: a worker that found nothing for a while gives back its leases, publishes epoch infinity, says that
// it is parked, looks once more, and blocks in its poller (see parking.hpp why no wake-up is lost).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"
#include "runtime/epoch/epoch_manager.hpp"
#include "runtime/epoch/retire_list.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/value_heap.hpp"
#include "runtime/options.hpp"
#include "runtime/pool/immediate_queue.hpp"
#include "runtime/pool/owned_pools.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/pool/task_pool.hpp"
#include "runtime/scheduler/object_heat.hpp"
#include "runtime/scheduler/parking.hpp"
#include "runtime/scheduler/poller.hpp"
#include "runtime/scheduler/prefetch_tuner.hpp"
#include "runtime/scheduler/retry_watch.hpp"
#include "runtime/scheduler/task_class.hpp"
#include "runtime/scheduler/worker_counters.hpp"
#include "runtime/task/task.hpp"
#include "runtime/topology/order.hpp"

namespace mxkv::runtime {

class Runtime;

/// How a worker prefetches now.
struct PrefetchInForce {
  prefetch_mode mode = prefetch_mode::off;  ///< never prefetch_mode::tuned
  bool tuned = false;                       ///< whether a tuner chose it
  std::uint32_t distance = 0;               ///< for prefetch_mode::distance
};

/// Other workers as one sees them, nearest first; empty where stealing is off.
struct Neighbours {
  std::vector<WorkerId> victims;  ///< whose pools it steals
  std::vector<WorkerId> thieves;  ///< whom it wakes when it has pools to spare
};

/// Thread-safety: owner worker only, unless a function says otherwise.
class Worker final : private RetireBlockSource {
 public:
  Worker(Runtime& runtime, WorkerId id, NumaNodeId node, std::span<TaskPool> pools);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The worker whose step() runs on the calling thread, or null.
  [[nodiscard]] static Worker* current() noexcept;

  [[nodiscard]] WorkerId id() const noexcept { return id_; }
  [[nodiscard]] NumaNodeId node() const noexcept { return node_; }
  [[nodiscard]] Runtime& runtime() noexcept { return runtime_; }

  // --- Tasks ---

  /// Makes a task of class T in the smallest block that holds it. Never fails: task memory is outside the
  /// limit, and when the system has none left the process ends.
  template <class T, class... Args>
  [[nodiscard]] T* create(Args&&... args) {
    static_assert(sizeof(T) <= kLargestTaskBytes && alignof(T) <= kCacheLineBytes);
    static_assert(std::is_trivially_destructible_v<T>, "a finished task is freed, not destroyed");
    return create_in<T>(task_block_for(sizeof(T)), std::forward<Args>(args)...);
  }
  /// Makes a task that is followed by data of its own; `bytes` is the sum, at most kLargestTaskBytes.
  template <class T, class... Args>
  [[nodiscard]] T* create_sized(std::size_t bytes, Args&&... args) {
    MXKV_DCHECK(bytes >= sizeof(T) && bytes <= kLargestTaskBytes, "a task fits the largest block");
    return create_in<T>(task_block_for(bytes), std::forward<Args>(args)...);
  }
  /// Frees a task that was created and is in no queue, and leaves its pin.
  void finish(MxTask& task) noexcept {
    ++ended_;
    if (retry_watch_.any()) [[unlikely]] {
      retry_watch_.forget(task);
    }
    if (task.annotations().pin_slot != Annotations::kNoPin) {
      epochs_.unpin(id_, task.annotations().pin_slot);
    }
    tasks_.release(&task, static_cast<task_block>(task.annotations().block));
  }

  /// A raw block of the task heap, for what a task needs besides its own block. Never fails, like create().
  [[nodiscard]] void* allocate_block(task_block block) {
    void* memory = tasks_.allocate(block);
    MXKV_ASSERT(memory != nullptr, "the system is out of memory for tasks");
    return memory;
  }
  void release_block(void* memory, task_block block) noexcept { tasks_.release(memory, block); }

  /// Spawns a task: to the place or pool that its annotations demand, else to this worker. A place that does
  /// not exist is as none, and counted; tasking::spawn() says what is wrong.
  void spawn(MxTask* task) noexcept {
    if (stays_here(*task) && task->annotations().waits_its_turn()) [[likely]] {
      ready_.push_back(task);
    } else {
      spawn_unusual(task);
    }
  }
  /// Puts a deferred task where this worker's own wait, and wakes somebody. Says whether it did. Any thread.
  bool offer_deferred(MxTask* task) noexcept;

  // --- Pins and memory ---

  /// Pins for the task's request, unless it holds a pin already.
  void pin(MxTask& task) noexcept {
    if (task.annotations().pin_slot == Annotations::kNoPin) {
      task.annotations().pin_slot = epochs_.pin(id_);
    }
  }
  /// Pins for `task` as `holder` is pinned: it may refer to whatever `holder` found.
  void share_pin(const MxTask& holder, MxTask& task) noexcept {
    MXKV_DCHECK(holder.annotations().pin_slot != Annotations::kNoPin, "only a held pin is shared");
    epochs_.pin_again(id_, holder.annotations().pin_slot);
    task.annotations().pin_slot = holder.annotations().pin_slot;
  }
  /// Leaves the task's pin: from here on it holds keys, no pointers.
  void unpin(MxTask& task) noexcept {
    if (task.annotations().pin_slot != Annotations::kNoPin) {
      epochs_.unpin(id_, std::exchange(task.annotations().pin_slot, Annotations::kNoPin));
    }
  }
  /// Leaves the task's pin and takes a new one, for the next request that the same task carries.
  void repin(MxTask& task) noexcept {
    if (task.annotations().pin_slot != epochs_.slot(id_)) {
      unpin(task);
      pin(task);
    }
  }
  /// Hands over an object that was just unlinked; it is freed when no reader can hold it.
  void retire(void* object, ReclaimKind kind, std::size_t bytes) {
    retired_.add(object, kind, epochs_.retire_stamp(), bytes);
  }
  /// Advances the epoch and frees what may go, at once: for the out-of-memory path. Leaves this worker's
  /// epoch, so the calling task must hold a pin or no pointer that it found earlier.
  void reclaim_now();
  [[nodiscard]] std::size_t retired_objects() const noexcept { return retired_.entries(); }
  [[nodiscard]] std::size_t retired_bytes() const noexcept { return retired_.bytes(); }

  [[nodiscard]] ValueHeap& items() noexcept { return items_; }
  [[nodiscard]] ValueHeap& nodes() noexcept { return nodes_; }
  [[nodiscard]] const CoreHeap& task_heap() const noexcept { return tasks_; }
  [[nodiscard]] CoreHeap& task_heap() noexcept { return tasks_; }
  [[nodiscard]] MemoryAccount& account() noexcept { return account_; }

  // --- Context of the application ---

  /// One pointer for the application's state of this worker, such as the daemon's store.
  void set_local(void* state) noexcept { local_state_ = state; }
  template <class T>
  [[nodiscard]] T& local() noexcept {
    return *static_cast<T*>(local_state_);
  }
  [[nodiscard]] Random& random() noexcept { return random_; }
  /// Microseconds since 1970 by the steady time (clock.hpp), read once a round.
  [[nodiscard]] std::uint64_t now_us() const noexcept { return now_us_; }
  /// Monotonic nanoseconds, read once a round.
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }

  // --- Scheduling ---

  /// One round. Returns whether anything was done.
  bool step();
  /// Rounds until stop() was called on the runtime; parks when idle. Runs on the worker's thread.
  void run();
  /// Whether this worker holds the lease of `pool`, be it its own or stolen.
  [[nodiscard]] bool leases(PoolId pool) const noexcept { return leased_[pool.value()] != 0; }
  /// The pool that only this worker ever executes from.
  [[nodiscard]] PoolId pinned_pool() const noexcept { return pools_.pinned().id(); }

  /// Hands `pool` over to worker `to`, by a task in that one's pinned pool. False: not yet, tasks of it are
  /// in the buffer; none enter it from now on, so ask again soon. A pool that is not here any more stays
  /// where it is, and so does one for which `to` has no room.
  [[nodiscard]] bool give_away(TaskPool& pool, WorkerId to) noexcept;
  /// Takes over a pool that was given away to this worker.
  void take_over(TaskPool& pool) noexcept;
  /// Puts an object of pool `from`, whose lease this worker holds, into pool `to`: tasks that are on their
  /// way to it are forwarded. Whether it did: not if the object is elsewhere already, or latched.
  bool move_object(DataObject& object, PoolId from, PoolId to) noexcept;
  /// How many more pools it could take over. Any thread.
  [[nodiscard]] std::uint32_t room_for_pools() const noexcept { return pools_.room(); }

  /// Changes the prefetching of this worker while it runs. Tuning begins anew.
  void set_prefetch(const PrefetchOptions& options);
  /// What is in force now, be it set or tuned.
  [[nodiscard]] PrefetchOptions prefetch() const noexcept { return buffer_.options(); }
  /// The same, and whether it was tuned. Any thread.
  [[nodiscard]] PrefetchInForce prefetch_in_force() const noexcept {
    return prefetch_in_force_.load(std::memory_order_relaxed);
  }

  void set_poller(Poller& poller) noexcept { poller_ = &poller; }
  /// Before the first step. Start-up only.
  void set_neighbours(Neighbours neighbours) noexcept { neighbours_ = std::move(neighbours); }
  void set_locality_order(LocalityOrder order) noexcept { locality_order_ = std::move(order); }
  /// Gets the worker out of its parking. Any thread.
  void wake() noexcept;
  /// Wakes it if it is parked; says whether it was. Of several callers one does. Any thread, after it made a
  /// pool ready.
  bool rouse() noexcept;
  /// Wakes the nearest parked worker that may steal from this one, if there is one. Any thread, after it made
  /// a pool ready.
  bool rouse_thief() noexcept;
  /// Whether it is parked. Any thread.
  [[nodiscard]] bool parked() const noexcept { return parking_.parked(); }
  /// Tasks in its buffer when it last looked at its pools: a cheap measure of how busy it is. Any thread.
  [[nodiscard]] std::uint32_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
  [[nodiscard]] const WorkerCounters& counters() const noexcept { return counters_; }

  /// Before blocking: gives up leases and epoch and says so. False: something came meanwhile, do not block.
  [[nodiscard]] bool prepare_to_park() noexcept;
  void unpark() noexcept { parking_.unpark(); }

  /// Calls f(task) for each task that waits here, but for those in pools. Between two steps: for tests that
  /// say what does not get on.
  template <class F>
  void for_each_waiting(const F& f) {
    for (std::uint32_t left = buffer_.size(); left > 0; --left) {
      const BufferedTask next = buffer_.pop();
      f(*next.task);
      buffer_.push(next.task, next.pool);
    }
    for (TaskList* const list : {&ready_, &low_priority_}) {
      TaskList waiting = std::exchange(*list, {});
      while (MxTask* const task = waiting.pop_front()) {
        f(*task);
        list->push_back(task);
      }
    }
  }
  /// Drops all tasks that wait here; returns how many. Only when no worker runs any more.
  std::size_t discard_tasks() noexcept;
  /// Frees everything retired. Only when no worker runs any more and all tasks are dropped.
  void reclaim_all_stopped();

 private:
  class ReclaimTask;

  template <class T, class... Args>
  T* create_in(task_block block, Args&&... args) {
    T* task = new (allocate_block(block)) T(&kTaskClassOf<T>, std::forward<Args>(args)...);
    task->annotations().block = static_cast<std::uint8_t>(block) & 7U;
    return task;
  }

  template <class T>
  friend std::uint64_t detail::run_stretch(Worker& worker, std::uint64_t most);

  [[nodiscard]] bool is_bound(const MxTask& task) const noexcept;
  void spawn_unusual(MxTask* task) noexcept;
  void spawn_here(MxTask* task) noexcept;
  /// After a task ended: the next one that waits takes its place.
  void refill_one() noexcept {
    if (buffer_.room() > 0) {
      if (MxTask* task = ready_.pop_front()) [[likely]] {
        buffer_.push(task);
      }
    }
  }
  void spawn_bound(MxTask* task) noexcept;
  void spawn_by_locality(MxTask* task) noexcept;
  void spawn_placed(MxTask* task, Target target) noexcept;
  void spawn_to(TaskPool& pool, MxTask* task) noexcept;
  /// Whether a task that wants to run again, of whatever access, belongs into this worker's buffer.
  [[nodiscard]] static bool stays_here(const MxTask& task) noexcept {
    // The primitives that may bind a task are odd, the others even.
    static_assert((static_cast<unsigned>(primitive::serialized_by_scheduling) & 1U) == 1 &&
                  (static_cast<unsigned>(primitive::optimistic_scheduling) & 1U) == 1 &&
                  (static_cast<unsigned>(primitive::optimistic_latch) & 1U) == 0 &&
                  (static_cast<unsigned>(primitive::spin_latch) & 1U) == 0 &&
                  (static_cast<unsigned>(primitive::reader_writer_latch) & 1U) == 0);
    return task.annotations().target == Annotations::kAnyWorker &&
           (static_cast<unsigned>(task.object().synchronization()) & 1U) == 0;
  }
  void settle(MxTask* task, runtime::step wanted) noexcept;
  void put_back(MxTask* task) noexcept;
  void tell_stuck(const MxTask& task, std::uint32_t retries) noexcept;
  void execute_bound(MxTask* task, TaskPool& pool) noexcept;
  void run_until(std::uint64_t executed) noexcept;
  void run_each_in_epoch(std::uint64_t executed) noexcept;
  void run_look(std::uint64_t executed) noexcept;
  void run_tuned(std::uint64_t executed) noexcept;
  void put_in_force(const PrefetchOptions& options) noexcept;
  void refill() noexcept;
  void refill_if_waiting() noexcept;
  void refill_from_pools() noexcept;
  [[nodiscard]] std::uint32_t pool_tasks_in_buffer() const noexcept;
  void refill_by_locality() noexcept;
  bool adopt(MxTask* task, std::atomic<std::uint64_t>& by_rule) noexcept;
  [[nodiscard]] MxTask* own_immediate() noexcept;
  [[nodiscard]] MxTask* own_deferred() noexcept;
  [[nodiscard]] MxTask* immediate_of(const std::vector<WorkerId>& others) const noexcept;
  [[nodiscard]] MxTask* immediate_in_turn() noexcept;
  [[nodiscard]] bool locality_waiting() const noexcept;
  /// Whether tasks wait that go before those of low priority.
  [[nodiscard]] bool own_locality_waits() const noexcept;
  [[nodiscard]] bool rouse_first_of(const std::vector<WorkerId>& others) noexcept;
  [[nodiscard]] bool lease(std::size_t slot, TaskPool& pool, bool& leased_one, bool& left_one) noexcept;
  std::uint32_t fill_from(TaskPool& pool, std::size_t tag) noexcept;
  std::uint32_t fill_sampled(TaskPool& pool, std::size_t tag) noexcept;
  [[nodiscard]] bool steal() noexcept;
  void return_stolen() noexcept;
  [[nodiscard]] bool victims_ready() const noexcept;
  [[nodiscard]] TaskPool& tagged_pool(std::size_t tag) noexcept {
    return tag == kStolenTag ? *stolen_ : *pools_.at(tag - 1);
  }
  bool run_batch();
  bool maintain();
  bool spawn_reclaim();
  void reclaim(std::size_t most);
  [[nodiscard]] bool pools_ready() const noexcept;
  void* allocate_retire_block() override;
  void release_retire_block(void* block) noexcept override;

  /// Tasks that each pool may put into the buffer beyond the window, so that free tasks cannot starve pools;
  /// and free tasks, so that pools cannot starve them.
  static constexpr std::uint32_t kPoolQuantum = 16;
  /// Looks at a full window until waiting free tasks get a quantum.
  static constexpr std::uint32_t kFullLooks = 16;
  static constexpr std::uint32_t kBufferedAtMost = PrefetchBuffer::kCapacity - kPoolQuantum;
  [[nodiscard]] static std::uint32_t buffered_at_most(const RuntimeOptions& options) noexcept {
    return options.buffered_tasks == 0 ? kBufferedAtMost : std::min(options.buffered_tasks, kBufferedAtMost);
  }
  /// In the prefetch buffer: a task of the stolen pool.
  static constexpr std::size_t kStolenTag = PrefetchBuffer::kMaxPools;

  Runtime& runtime_;
  EpochManager& epochs_;
  CoreHeap tasks_;
  PrefetchBuffer buffer_;
  TaskList ready_;         ///< free tasks of this worker that wait for the window
  TaskList low_priority_;  ///< run when nothing else fills the window
  TaskList later_;         ///< for the next round
  ImmediateQueue immediate_;
  LocalityOrder locality_order_;
  std::uint32_t crowded_looks_ = 0;    ///< at a buffer with enough other tasks
  std::uint64_t immediate_taken_ = 0;  ///< of its own
  std::size_t next_node_mate_ = 0;     ///< where rule 5 found a task
  WorkerId id_;
  NumaNodeId node_;
  OwnedPools pools_;
  std::vector<std::uint8_t> leased_;  ///< by PoolId: whether this worker holds its lease
  Neighbours neighbours_;
  TaskPool* stolen_ = nullptr;      ///< a pool that it leased when it was another worker's
  TaskPool* giving_ = nullptr;      ///< a pool to be given away, which is not executed from any more
  ObjectHeat* heat_;                ///< where executed tasks are sampled; null: nowhere
  std::size_t first_stolen_ = 0;    ///< which pool of a victim is looked at first
  std::size_t first_refilled_ = 0;  ///< which pool came first in the last refill
  std::uint32_t batch_tasks_;
  std::uint32_t buffered_at_most_;
  std::uint32_t filled_by_pools_;  ///< a quantum less, else the free tasks' quantum would never find a place
  std::uint32_t free_at_most_;     ///< another one less: free tasks, else pools would never find a place
  bool usual_way_;
  epoch_mode epoch_mode_;
  Poller* poller_ = nullptr;
  void* local_state_ = nullptr;
  MemoryAccount& account_;
  ValueHeap items_;
  ValueHeap nodes_;
  RetireList retired_;
  std::uint64_t now_us_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t last_advance_ns_ = 0;
  std::uint64_t reclaimed_epoch_ = 0;
  bool reclaim_waits_[2] = {};  ///< a reclaim task that did not run yet: a usual one, an urgent one
  std::uint64_t executed_ = 0;
  std::uint64_t ended_ = 0;
  RetryWatch retry_watch_;
  std::uint32_t full_looks_ = 0;
  Random random_;
  WorkerCounters counters_;
  std::atomic<std::uint32_t> load_{0};
  std::unique_ptr<PrefetchTuner> tuner_;  ///< null unless prefetching is tuned
  std::atomic<PrefetchInForce> prefetch_in_force_{};
  alignas(kCacheLineBytes) ParkingFlag parking_;
};

/// One loop for many tasks: what is the same for all of them stays in registers.
template <class T>
std::uint64_t detail::run_stretch(Worker& worker, std::uint64_t most) {
  PrefetchBuffer& buffer = worker.buffer_;
  for (std::uint64_t executed = 0; executed < most; ++executed) {
    if (buffer.empty()) {
      return executed;
    }
    const BufferedTask next = buffer.front();
    runtime::step wanted{};
    if (next.pool != 0 || &next.task->task_class() != &kTaskClassOf<T> ||
        !static_cast<T*>(next.task)->run_usual(worker, wanted)) {
      return executed;
    }
    static_cast<void>(buffer.pop());
    if (wanted == runtime::step::done) {
      worker.finish(*next.task);
      worker.refill_one();
    } else if (wanted == runtime::step::again && Worker::stays_here(*next.task)) [[likely]] {
      buffer.push(next.task);
    } else {
      worker.settle(next.task, wanted);
      return executed + 1;
    }
  }
  return most;
}

}  // namespace mxkv::runtime

// A worker: one thread's share of the runtime. It executes tasks one after the other, each to completion [Mx
// 2.2, 4.3]. step() and spawn() go over parts that each have a state, a file and tests of their own:
//
//   task_route       where a spawned task goes            pool_leases      own pools, and a stolen one
//   task_window      prefetch buffer and waiting tasks    locality_queues  immediate and deferred tasks
//   reclaimer        retired objects                      prefetch_control how lines are asked for
//   retry_watch      tasks that get nowhere               idling, parking  when to block, and wake-ups
//
// step() is one round without a thread inside, so that a test can drive many workers in any order:
//   poll (sockets spawn tasks) -> execute a batch -> end the turn (replies leave) -> maintain memory.
// run() does rounds on the worker's thread. A worker that found nothing for a while gives back its leases and
// publishes epoch infinity. It says that it is parked, looks once more, and blocks in its poller.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/base/random.hpp"
#include "runtime/epoch/epoch_manager.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/value_heap.hpp"
#include "runtime/options.hpp"
#include "runtime/scheduler/idle_clock.hpp"
#include "runtime/scheduler/idling.hpp"
#include "runtime/scheduler/locality_queues.hpp"
#include "runtime/scheduler/parking.hpp"
#include "runtime/scheduler/poller.hpp"
#include "runtime/scheduler/pool_leases.hpp"
#include "runtime/scheduler/prefetch_control.hpp"
#include "runtime/scheduler/reclaimer.hpp"
#include "runtime/scheduler/retry_watch.hpp"
#include "runtime/scheduler/task_class.hpp"
#include "runtime/scheduler/task_route.hpp"
#include "runtime/scheduler/task_window.hpp"
#include "runtime/scheduler/worker_counters.hpp"
#include "runtime/scheduler/write_heat.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

class ObjectHeat;
class Runtime;

/// Other workers as one sees them, nearest first; empty where there are none.
struct Neighbours {
  std::vector<WorkerId> victims;         ///< it steals from their pools
  std::vector<WorkerId> thieves;         ///< it wakes them when it has pools to spare
  std::vector<WorkerId> wake_immediate;  ///< it wakes them for its immediate tasks
  std::vector<WorkerId> wake_deferred;   ///< it wakes them for its group's deferred tasks
};

/// Thread-safety: owner worker only, unless a function says otherwise.
class Worker final {
 public:
  Worker(Runtime& runtime, WorkerId id, NumaNodeId node, std::span<TaskPool> pools);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The worker that runs step() on the calling thread, or null.
  [[nodiscard]] static Worker* current() noexcept;

  [[nodiscard]] WorkerId id() const noexcept { return id_; }
  [[nodiscard]] NumaNodeId node() const noexcept { return node_; }
  [[nodiscard]] Runtime& runtime() noexcept { return runtime_; }

  // --- Tasks ---

  /// Makes a task of class T in the smallest block that holds it. Never fails: task memory is outside the
  /// limit, and when the system has none left the process ends.
  template <std::derived_from<MxTask> T, class... Args>
  [[nodiscard]] T* create(Args&&... args) {
    static_assert(sizeof(T) <= kLargestTaskBytes && alignof(T) <= kCacheLineBytes);
    static_assert(std::is_trivially_destructible_v<T>, "a finished task is freed, not destroyed");
    return create_in<T>(task_block_for(sizeof(T)), std::forward<Args>(args)...);
  }
  /// Makes a task that is followed by data of its own; `bytes` is the sum, at most kLargestTaskBytes.
  template <std::derived_from<MxTask> T, class... Args>
  [[nodiscard]] T* create_sized(std::size_t bytes, Args&&... args) {
    MXKV_DCHECK(bytes >= sizeof(T) && bytes <= kLargestTaskBytes, "a task fits the largest block");
    return create_in<T>(task_block_for(bytes), std::forward<Args>(args)...);
  }
  /// The same in a block that is known to be large enough.
  template <std::derived_from<MxTask> T, class... Args>
  [[nodiscard, gnu::always_inline]] T* create_in(task_block block, Args&&... args) {
    T* task = new (allocate_block(block)) T(&kTaskClassOf<T>, std::forward<Args>(args)...);
    task->annotations().block = static_cast<std::uint8_t>(block) & 7U;
    return task;
  }
  /// Frees a task that was created and is in no queue, and leaves its pin.
  [[gnu::always_inline]] void finish(MxTask& task) noexcept {
    MXKV_DCHECK(task.annotations().block < kTaskBlocks, "a task was made by create()");
    ++ended_;
    if (retry_watch_.any()) [[unlikely]] {
      retry_watch_.forget(task);
    }
    if (task.annotations().pin_slot != Annotations::kNoPin) {
      epochs_.unpin(id_, task.annotations().pin_slot);
    }
    tasks_.release(&task, static_cast<task_block>(task.annotations().block));
  }

  /// A raw block of the task heap, for a task's data besides its own block. Never fails, like create().
  [[nodiscard]] void* allocate_block(task_block block) {
    void* memory = tasks_.allocate(block);
    MXKV_ASSERT(memory != nullptr, "the system is out of memory for tasks");
    return memory;
  }
  void release_block(void* memory, task_block block) noexcept { tasks_.release(memory, block); }

  /// Spawns a task: to the place or pool that its annotations demand, else to this worker. A place that does
  /// not exist is as none, and counted; tasking::spawn() returns the error.
  void spawn(MxTask* task) noexcept {
    if (keeps_its_place(*task) && task->annotations().waits_its_turn()) [[likely]] {
      window_.add_ready(task);
    } else {
      spawn_slow(task);
    }
  }
  /// Puts a deferred task where this worker's own wait, and wakes a worker for it. Says whether it did. Any
  /// thread.
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
  void retire(void* object, ReclaimKind kind, std::size_t bytes) { reclaimer_.retire(object, kind, bytes); }
  /// Advances the epoch and frees what may go, at once: for the out-of-memory path. It frees
  /// Reclaimer::kMostPerRun at most, so that a long list does not delay replies. Leaves this worker's
  /// epoch, so the calling task must hold a pin or no pointer that it found earlier.
  void reclaim_now();
  [[nodiscard]] std::size_t retired_objects() const noexcept { return reclaimer_.objects(); }
  [[nodiscard]] std::size_t retired_bytes() const noexcept { return reclaimer_.bytes(); }

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
    MXKV_DCHECK(local_state_ != nullptr, "the application has set its state");
    return *static_cast<T*>(local_state_);
  }
  [[nodiscard]] Random& random() noexcept { return random_; }
  /// The calling task's turn took as long as `turns` others, beside its own: the round ends that much sooner.
  void charge(std::uint32_t turns) noexcept { charged_ += turns; }
  /// So many requests ended without a task of their own: work got on as if as many tasks had ended.
  void count_ended(std::uint64_t requests) noexcept { ended_ += requests; }
  /// Microseconds since 1970 by the steady time (clock.hpp), read once a round.
  [[nodiscard]] std::uint64_t now_us() const noexcept { return now_us_; }
  /// Monotonic nanoseconds, read once a round.
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }

  // --- Scheduling ---

  /// One round. Returns whether anything was done.
  bool step();
  /// Rounds until stop() was called on the runtime; parks when idle. Runs on the worker's thread.
  void run();

  /// Changes the prefetching of this worker while it runs. Tuning begins anew.
  void set_prefetch(const PrefetchOptions& options) { prefetching_.set(options, window_.buffer()); }
  /// The setting in force, be it set or tuned.
  [[nodiscard]] PrefetchOptions prefetch() const noexcept { return window_.buffer().options(); }
  /// The same, and whether it was tuned. Any thread.
  [[nodiscard]] PrefetchInForce prefetch_in_force() const noexcept { return prefetching_.in_force(); }

  void set_poller(Poller& poller) noexcept { poller_ = &poller; }
  /// Start-up only: before the first step, when all workers exist.
  void connect(Neighbours neighbours, LocalityPeers peers) noexcept;
  /// Gets the worker out of its parking. Any thread.
  void wake() noexcept;
  /// Wakes it if it is parked; says whether it was. Of several callers one does. Any thread, after it made a
  /// pool ready.
  bool wake_if_parked() noexcept;
  /// Wakes the nearest parked worker that may steal from this one, if there is one. Any thread, after it made
  /// a pool ready.
  bool wake_thief() noexcept { return wake_first_of(neighbours_.thieves); }
  /// Whether a worker that would be woken for an immediate task of this one had nothing to run when it last looked.
  [[nodiscard]] bool mate_idle() const noexcept;
  /// Whether usual cases may be done without guarded execution, and lines asked for ahead.
  [[nodiscard]] bool takes_fast_paths() const noexcept {
    return fast_path_ && window_.buffer().asks_at_spawn();
  }
  /// Whether it is parked. Any thread.
  [[nodiscard]] bool parked() const noexcept { return parking_.parked(); }
  /// Tasks in its buffer when it last refilled it: a cheap measure of how busy it is. Any thread.
  [[nodiscard]] std::uint32_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
  /// Any thread reads its sum.
  [[nodiscard]] const IdleClock& idle_clock() const noexcept { return idle_; }
  /// Any thread reads; only the owner worker counts.
  [[nodiscard]] const WorkerCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] WorkerCounters& counters() noexcept { return counters_; }
  /// How hot objects that adapt are to this worker's writers.
  [[nodiscard]] WriteHeat& write_heat() noexcept { return write_heat_; }

  /// Before blocking: gives up leases and epoch and says so. False: something came meanwhile, do not block.
  [[nodiscard]] bool prepare_to_park() noexcept;
  void unpark() noexcept { parking_.unpark(); }

  // --- Parts, for the runtime's own tasks and for other workers ---

  [[nodiscard]] PoolLeases& pool_leases() noexcept { return leases_; }
  /// Whether this worker holds the lease of `pool`, be it its own or stolen.
  [[nodiscard]] bool leases(PoolId pool) const noexcept { return leases_.holds(pool); }
  /// The pool that only this worker ever executes from. Any thread.
  [[nodiscard]] PoolId pinned_pool() const noexcept { return leases_.owned().pinned().id(); }
  [[nodiscard]] LocalityQueues& locality_queues() noexcept { return locality_; }
  [[nodiscard]] Reclaimer& reclaimer() noexcept { return reclaimer_; }

  // --- For tests and for the end ---

  /// Calls f(task) for each task that waits here, except tasks in pools. Between two steps: for tests that
  /// report tasks without progress.
  template <std::invocable<MxTask&> F>
  void for_each_waiting(const F& f) {
    window_.for_each(f);
  }
  /// Drops all tasks that wait here; returns how many. Only when no worker runs any more.
  std::size_t discard_tasks() noexcept;
  /// Frees everything retired. Only when no worker runs any more and all tasks are dropped.
  void reclaim_all_stopped();

 private:
  template <class T, class Way>
  std::uint64_t give_turns(std::uint64_t most);
  template <class T>
  friend std::uint64_t detail::run_stretch(Worker& worker, std::uint64_t most);

  void spawn_slow(MxTask* task) noexcept;
  void spawn_by(task_route route, MxTask* task) noexcept;
  void spawn_at_place(MxTask* task) noexcept;
  void spawn_to(TaskPool& pool, MxTask* task) noexcept;
  [[nodiscard]] bool wake_first_of(const std::vector<WorkerId>& others) noexcept;

  /// Whether a task that has run stays in the window.
  [[nodiscard]] static bool goes_on(const MxTask& task, runtime::step wanted) noexcept {
    return (wanted == runtime::step::again || wanted == runtime::step::now) &&
           task.annotations().target == Annotations::kAnyWorker && !is_bound(task);
  }
  /// Whether a task on a fast path has no lines to wait for: tasks that begin when others end stay in step.
  [[nodiscard]] static bool begins_at_once(const MxTask& task) noexcept {
    return task.annotations().line_count == 0 && task.task_class().run_stretch != nullptr;
  }
  void apply_step(MxTask* task, runtime::step wanted) noexcept;
  void put_back(MxTask* task) noexcept;
  void execute(const BufferedTask& next) noexcept;
  void run_until(std::uint64_t executed) noexcept;
  void run_in_epochs(std::uint64_t executed) noexcept;
  bool run_batch();
  bool maintain();

  void refill() noexcept {
    window_.refill([this] { return locality_.own_wait(); });
  }
  void refill_from_pools() noexcept;
  std::uint32_t fill_from(TaskPool& pool, std::size_t tag) noexcept;
  [[nodiscard]] bool steal() noexcept;
  void return_stolen() noexcept;
  [[nodiscard]] bool anything_to_run() noexcept;

  Runtime& runtime_;
  EpochManager& epochs_;
  WorkerId id_;
  NumaNodeId node_;
  CoreHeap tasks_;
  TaskWindow window_;
  WorkerCounters counters_;
  LocalityQueues locality_;
  PoolLeases leases_;
  Neighbours neighbours_;
  ObjectHeat* heat_;  ///< where executed tasks are sampled; null: nowhere
  std::uint32_t batch_tasks_;
  bool fast_path_;
  epoch_mode epoch_mode_;
  Poller* poller_ = nullptr;
  void* local_state_ = nullptr;
  MemoryAccount& account_;
  ValueHeap items_;
  ValueHeap nodes_;
  TaskBlocks retire_blocks_;
  Reclaimer reclaimer_;
  std::uint64_t now_us_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t charged_ = 0;  ///< in this round
  std::uint64_t ended_ = 0;
  RetryWatch retry_watch_;
  WriteHeat write_heat_;
  Random random_;
  PrefetchControl prefetching_;
  std::atomic<std::uint32_t> load_{0};
  IdleClock idle_;
  alignas(kCacheLineBytes) ParkingFlag parking_;
};

/// Whether tasks ask for their lines themselves. Else the prefetch buffer does so by distance, or none does.
template <class Way>
consteval bool asks_itself() {
  if constexpr (std::is_void_v<Way>) {
    return false;
  } else {
    return Way::kAsks;
  }
}

/// One loop for many tasks, which stay where they are in the buffer: their common state stays in registers.
/// So there is one counter alone. `Way` is how tasks of class T take their turns; void: without one, and only tasks
/// of that class.
template <class T, class Way>
std::uint64_t Worker::give_turns(std::uint64_t most) {
  constexpr bool kAsks = asks_itself<Way>();
  PrefetchBuffer& buffer = window_.buffer();
  std::uint32_t place = buffer.begin_turns();
  std::uint32_t stop = place;
  const auto take_out = [&] {
    const std::uint32_t left = stop - place - 1;
    buffer.take_out(place);
    place = buffer.begin() - 1;
    stop = buffer.begin() + left;
  };
  for (;; ++place) {
    if (place == stop) [[unlikely]] {
      // All have had a turn, or as many as may.
      if (place == buffer.end()) {
        window_.refill_ready();
        if (place == buffer.end()) {
          place = buffer.begin();
        }
      }
      const auto turns = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, buffer.end() - place));
      stop = place + turns;
      most -= turns;
      if (turns == 0) {
        break;
      }
    }
    const PrefetchBuffer::Free here = buffer.free_at(place);
    if (!here) [[unlikely]] {
      break;
    }
    MxTask* const next = here.task();
    const bool same_class = &next->task_class() == &kTaskClassOf<T>;
    auto* const task = static_cast<T*>(next);
    runtime::step wanted;  // told below, where it is read
    went how = went::astray;
    if constexpr (std::is_void_v<Way>) {
      if (!same_class) {
        break;
      }
      how = task->run_fast(*this, wanted) ? went::told : went::astray;
    } else if (same_class) [[likely]] {
      how = task->template run_fast<Way>(*this, wanted);
    } else {
      MXKV_PATH(turn_of_another_class);
      how = (kAsks ? next->task_class().turn : next->task_class().quiet_turn)(*next, *this, wanted);
    }
    if (how == went::on) [[likely]] {
      if constexpr (!kAsks) {
        buffer.had_turn(place);
      }
      continue;
    }
    if (how == went::astray) [[unlikely]] {
      MXKV_PATH(turn_astray);
      wanted = detail::run_guarded<T>(*next, *this);
    }
    if (wanted == runtime::step::done) [[likely]] {
      finish(*next);
      const MxTask* const follower = window_.pass_place(place);
      if (follower == nullptr) {
        take_out();
        continue;
      }
      if (most != 0 && begins_at_once(*follower) &&
          (!std::is_void_v<Way> || &follower->task_class() == &kTaskClassOf<T>)) {
        MXKV_PATH(turn_at_once);
        --most;
        --place;
        continue;
      }
      buffer.had_turn(place);
    } else if (goes_on(*next, wanted)) {
      buffer.had_turn(place);
    } else {
      MXKV_PATH(turn_leaves);
      take_out();
      apply_step(next, wanted);
    }
  }
  most += stop - place;
  buffer.turn_to(place);
  return most;
}

template <class T>
std::uint64_t detail::run_stretch(Worker& worker, std::uint64_t most) {
  if constexpr (HasFastWays<T>) {
    const auto turns = [&](auto way) { return worker.give_turns<T, decltype(way)>(most); };
    return worker.window_.buffer().asks_at_spawn() ? T::template in_best_way<true>(turns)
                                                   : T::template in_best_way<false>(turns);
  }
  return worker.give_turns<T, void>(most);
}

}  // namespace mxkv::runtime

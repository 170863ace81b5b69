// The runtime: the workers and their shared parts. Built from options, started, fed, stopped.
//
// Life: construct -> set pollers and reclaim functions -> start() -> ... -> stop() -> destroy. Tests that
// drive Worker::step() by hand leave start() out. Objects that tasks still refer to are the application's to
// free between stop() and destruction; discard_tasks() drops tasks that were spawned and never ran.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/result.hpp"
#include "runtime/epoch/epoch_manager.hpp"
#include "runtime/epoch/retire_list.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/page_range.hpp"
#include "runtime/memory/value_heap.hpp"
#include "runtime/options.hpp"
#include "runtime/pool/deferred_queue.hpp"
#include "runtime/pool/task_pool.hpp"
#include "runtime/scheduler/alarm.hpp"
#include "runtime/scheduler/event_poller.hpp"
#include "runtime/scheduler/joins.hpp"
#include "runtime/scheduler/places.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

class Rebalancer;

class Runtime {
 public:
  static constexpr std::size_t kMaxReclaimKinds = 8;

  /// Throws std::system_error when the system refuses address space or descriptors. `clock` outlives this.
  Runtime(RuntimeOptions options, const Clock& clock);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // --- Start-up only ---

  /// Registers how retired objects of a kind are freed.
  [[nodiscard]] ReclaimKind add_reclaim_kind(ReclaimFunction function);
  /// The sink for reports of faults; outlives the workers.
  void set_alarm(Alarm& alarm) noexcept { alarm_ = &alarm; }
  /// Starts one thread a worker, pinned as the options say. On an error nothing runs.
  [[nodiscard]] Result<std::size_t> start();

  // --- Any thread ---

  /// Tells all workers to return and waits for them.
  void stop();
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_seq_cst); }
  /// Makes a task outside of any worker, for submit().
  template <std::derived_from<MxTask> T, class... Args>
  [[nodiscard]] T* create_outside(Args&&... args) {
    const std::scoped_lock lock{outside_mutex_};
    void* memory = outside_heap_.allocate(task_block_for(sizeof(T)));
    MXKV_ASSERT(memory != nullptr, "the system is out of memory for tasks");
    T* task = new (memory) T(&kTaskClassOf<T>, std::forward<Args>(args)...);
    task->annotations().block = static_cast<std::uint8_t>(task_block_for(sizeof(T))) & 7U;
    return task;
  }
  /// Spawns a task from a thread that is no worker: to its annotated place, else to `worker`. Where no worker
  /// runs at that place, the task goes to `worker` all the same, and the error is returned.
  std::optional<Error> submit(MxTask* task, WorkerId worker);
  /// The error for the place that a task is annotated with; empty: the place exists.
  [[nodiscard]] std::optional<Error> check_target(const MxTask& task) const;
  /// Which worker of a core group or node gets a task: `self` if it is one of them, else the less loaded of
  /// two that `random` chooses. The target exists.
  [[nodiscard]] WorkerId choose(Target target, std::optional<WorkerId> self, std::uint64_t random) noexcept;
  [[nodiscard]] const Places& places() const noexcept { return places_; }
  /// Tasks that were submitted for a place where no worker runs.
  [[nodiscard]] std::uint64_t misplaced() const noexcept {
    return misplaced_.load(std::memory_order_relaxed);
  }

  /// Announces a pool that became ready: wakes its owner if that is parked. Else, if the pool may be stolen,
  /// it wakes one parked worker near it. `by` is the worker that announces it, or null. Returns whether a
  /// worker was woken.
  bool announce(const TaskPool& pool, const Worker* by) noexcept;
  /// Where parking workers count themselves.
  [[nodiscard]] std::atomic<std::uint32_t>& parked_flags() noexcept { return parked_workers_; }
  /// How many workers are parked. seq_cst: asked after a pool was made ready, see parking.hpp.
  [[nodiscard]] std::uint32_t parked_workers() const noexcept {
    return parked_workers_.load(std::memory_order_seq_cst);  // pairs with BasicParkingFlag::try_park()
  }

  [[nodiscard]] std::size_t worker_count() const noexcept { return workers_.size(); }
  [[nodiscard]] Worker& worker(WorkerId id) noexcept { return workers_[id.index()]; }
  /// Bytes of all workers' retired objects. They stay charged until the objects are freed. Any thread.
  [[nodiscard]] std::size_t retired_bytes() const noexcept;
  [[nodiscard]] TaskPool& pool(PoolId id) noexcept { return pools_[id.index()]; }
  /// Where the deferred tasks of a group of workers wait, see worker_groups().
  [[nodiscard]] DeferredQueue& deferred_queue(std::size_t group) noexcept { return deferred_queues_[group]; }
  /// A number for a new request, above all earlier ones: deferred tasks are served in this order. One counter
  /// for all: it moves once a request, and requests that are deferred are large.
  [[nodiscard]] RequestId new_request() noexcept {
    return RequestId{requests_.fetch_add(1, std::memory_order_relaxed)};
  }
  [[nodiscard]] std::size_t pool_count() const noexcept { return first_pools_.back(); }
  /// A pool of `worker` for a new data object; spreads objects over the worker's stealable pools in turn.
  [[nodiscard]] PoolId pool_for_object(WorkerId worker, std::uint64_t spread) const noexcept {
    const std::size_t first = first_pools_[worker.index()];
    const std::size_t pools = first_pools_[worker.index() + 1] - first;
    return PoolId{static_cast<std::uint16_t>(first + 1 + spread % (pools - 1))};
  }
  /// The same by how often the object will be accessed [Mx preprint 4.1]. Seldom: one of `worker`'s pools.
  /// Moderately: of two pools that workers of its NUMA node began with, the one that has had less to do.
  /// Often: of all of these, the one that has had least to do. Any thread.
  [[nodiscard]] PoolId pool_for_object(WorkerId worker, std::uint64_t random,
                                       access_frequency frequency) const noexcept;

  /// Empty rounds before an idle worker blocks. Relaxed: a worker sees a new number when it next idles.
  [[nodiscard]] std::uint32_t spin_rounds() const noexcept {
    return spin_rounds_.load(std::memory_order_relaxed);
  }
  void set_spin_rounds(std::uint32_t rounds) noexcept {
    spin_rounds_.store(rounds, std::memory_order_relaxed);
  }
  /// Null: there is none.
  [[nodiscard]] Alarm* alarm() const noexcept { return alarm_; }
  [[nodiscard]] const RuntimeOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] EpochManager& epochs() noexcept { return epochs_; }
  [[nodiscard]] Joins& joins() noexcept { return joins_; }
  /// Null unless RebalanceOptions::strategy asks for one.
  [[nodiscard]] Rebalancer* rebalancer() noexcept { return rebalancer_.get(); }
  [[nodiscard]] MemoryBudget& budget() noexcept { return budget_; }
  [[nodiscard]] TaskMemory& task_memory() noexcept { return task_memory_; }
  [[nodiscard]] ValueSpace& item_space() noexcept { return item_space_; }
  [[nodiscard]] ValueSpace& node_space() noexcept { return node_space_; }
  /// The kind that is freed by `function`, which was registered.
  [[nodiscard]] ReclaimKind reclaim_kind(ReclaimFunction function) const noexcept;
  [[nodiscard]] const ReclaimFunction* reclaim_functions() const noexcept {
    return reclaim_functions_.data();
  }

  /// Frees everything retired and drops all waiting tasks. Only when no worker runs.
  void drain_stopped() noexcept;

 private:
  /// Wakes the owner of a recollection bin that has grown.
  class WakesOwners final : public BinOwners {
   public:
    explicit WakesOwners(Runtime& runtime) noexcept : runtime_(runtime) {}
    void wake(WorkerId owner) noexcept override { runtime_.worker(owner).wake(); }

   private:
    Runtime& runtime_;
  };

  /// Connects a worker with the others. Start-up only, when all exist.
  void connect(Worker& worker);

  RuntimeOptions options_;
  const Clock& clock_;
  std::atomic<std::uint32_t> spin_rounds_{options_.spin_rounds};
  Alarm* alarm_ = nullptr;
  std::vector<std::size_t> first_pools_;  ///< of worker i, its pinned one; at the end the number of all
  EpochManager epochs_;
  MemoryBudget budget_;
  PageOptions pages_;
  TaskMemory task_memory_;
  WakesOwners bin_owners_{*this};
  ValueSpace item_space_;
  ValueSpace node_space_;
  std::array<ReclaimFunction, kMaxReclaimKinds> reclaim_functions_{};
  std::size_t reclaim_kinds_ = 0;
  std::mutex outside_mutex_;  ///< guards outside_heap_: threads that are no workers are rare
  CoreHeap outside_heap_;
  std::unique_ptr<TaskPool[]> pools_;
  std::vector<std::vector<PoolId>> node_pools_;  ///< for data objects, by NumaNodeId
  Joins joins_;
  Places places_;
  std::deque<DeferredQueue> deferred_queues_;
  std::atomic<std::uint64_t> requests_{1};
  std::atomic<std::uint64_t> submitted_{0};  ///< spreads submitted tasks over the workers of a node
  std::atomic<std::uint64_t> misplaced_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> parked_workers_{0};
  std::deque<EventPoller> event_pollers_;
  std::unique_ptr<Rebalancer> rebalancer_;
  std::deque<Worker> workers_;
  std::vector<std::jthread> threads_;
  std::atomic<bool> stopping_{false};
};

}  // namespace mxkv::runtime

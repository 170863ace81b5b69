#include "runtime/scheduler/worker.hpp"

#include <algorithm>
#include <thread>

#include "runtime/base/paths.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

thread_local Worker* current_worker = nullptr;  // the context that `tasking::` functions spawn into

/// Tasks between two looks at the pools, and at the global epoch, inside a batch.
constexpr std::uint64_t kLookEvery = 64;
/// How long a worker that has nothing else sleeps until its next round when tasks wait for that.
constexpr std::uint64_t kLaterAfterNs = 200'000;

}  // namespace

bool detail::worker_leases(const Worker& worker, PoolId pool) noexcept {
  return worker.leases(pool);
}
void detail::finish_task(Worker& worker, MxTask& task) noexcept {
  worker.finish(task);
}

Worker* Worker::current() noexcept {
  return current_worker;
}

Worker::Worker(Runtime& runtime, WorkerId id, NumaNodeId node, std::span<TaskPool> pools)
    : runtime_(runtime),
      epochs_(runtime.epochs()),
      tasks_(runtime.task_memory().processor_heap(node)),
      buffer_(PrefetchOptions{}),
      id_(id),
      node_(node),
      pools_(pools),
      leased_(runtime.pool_count(), 0),
      heat_(runtime.rebalancer().heat(id)),
      batch_tasks_(runtime.options().batch_tasks),
      buffered_at_most_(buffered_at_most(runtime.options())),
      filled_by_pools_(buffered_at_most_ - std::min(kPoolQuantum, buffered_at_most_ / 4)),
      free_at_most_(filled_by_pools_ - std::min(kPoolQuantum, buffered_at_most_ / 4)),
      usual_way_(runtime.options().usual_way),
      epoch_mode_(runtime.options().epoch.mode),
      account_(runtime.budget().account(id)),
      items_(runtime.item_space(), account_, id, node),
      nodes_(runtime.node_space(), account_, id, node),
      retired_(*this),
      random_(0x6D786B76U + id.value()),
      parking_(runtime.parked_flags()) {
  set_prefetch(runtime.options().workers[id.index()].prefetch.value_or(runtime.options().prefetch));
}

Worker::~Worker() = default;

void* Worker::allocate_retire_block() {
  return allocate_block(task_block::bytes_384);
}

void Worker::release_retire_block(void* block) noexcept {
  tasks_.release(block, task_block::bytes_384);
}

bool Worker::is_bound(const MxTask& task) const noexcept {
  const primitive how = task.object().synchronization();
  return how == primitive::serialized_by_scheduling ||
         (how == primitive::optimistic_scheduling && task.annotations().access == access::write);
}

// The scheduler side of [Mx fig. 5]: placement first, then the object's pool, else here.
void Worker::spawn_unusual(MxTask* task) noexcept {
  const std::uint16_t target = task->annotations().target;
  if (target != Annotations::kAnyWorker && target != id_.value()) [[unlikely]] {
    spawn_placed(task, Target{target});
  } else {
    spawn_here(task);
  }
}

void Worker::spawn_here(MxTask* task) noexcept {
  if (is_bound(*task)) {
    spawn_bound(task);
  } else if (task->annotations().locality != locality::here) [[unlikely]] {
    spawn_by_locality(task);
  } else if (task->annotations().priority == priority::low) {
    low_priority_.push_back(task);
  } else if (task->annotations().priority == priority::high && buffer_.size() < free_at_most_) {
    buffer_.push(task);  // does not wait for the window
  } else {
    if (task->annotations().priority == priority::high) {
      MXKV_PATH(buffer_full_for_high);
    }
    ready_.push_back(task);
  }
}

void Worker::spawn_bound(MxTask* task) noexcept {
  TaskPool& pool = runtime_.pool(task->object().pool_hint());
  if (leases(pool.id())) {
    pool.spawn_locally(task);
  } else {
    spawn_to(pool, task);
  }
}

void Worker::spawn_to(TaskPool& pool, MxTask* task) noexcept {
  if (retry_watch_.any()) [[unlikely]] {
    retry_watch_.forget(*task);  // from the push on it may run, and end, elsewhere
  }
  if (pool.spawn(task) && runtime_.announce(pool, this)) {
    count(counters_.wakes);
  }
}

void Worker::wake() noexcept {
  if (poller_ != nullptr) {
    poller_->wake();
  }
}

bool Worker::rouse() noexcept {
  if (!parking_.parked() || !parking_.claim()) {  // pairs with prepare_to_park()
    return false;
  }
  wake();
  return true;
}

void Worker::settle(MxTask* task, runtime::step wanted) noexcept {
  switch (wanted) {
    case step::done:
      finish(*task);
      return;
    case step::again:
    case step::now:
      if (task->annotations().target == Annotations::kAnyWorker && !is_bound(*task)) {
        buffer_.push(task);  // it keeps the place that it just left
      } else {
        spawn(task);
      }
      return;
    case step::retry:
      put_back(task);
      return;
    case step::later:
      later_.push_back(task);
      return;
    case step::parked:
      return;
  }
}

void Worker::execute_bound(MxTask* task, TaskPool& pool) noexcept {
  if (is_bound(*task)) {
    // The pool in the tagged pointer was a hint; the object's header decides.
    if (!task->object().object()->lives_in(pool.id())) [[unlikely]] {
      const Annotations& notes = task->annotations();
      task->annotate_lines(TaggedPointer{task->object().object(), task->object().marks()}, notes.first_line,
                           notes.line_count);
      count(counters_.forwarded);
      spawn(task);
      return;
    }
  }
  settle(task, task->task_class().run(*task, *this));
}

void Worker::run_until(std::uint64_t executed) noexcept {
  while (executed_ < executed && !buffer_.empty()) {
    const auto run_stretch = buffer_.front().task->task_class().run_stretch;
    if (run_stretch != nullptr && usual_way_) {
      const std::uint64_t ran = run_stretch(*this, executed - executed_);
      executed_ += ran;
      if (ran > 0) {
        refill_if_waiting();
        continue;
      }
    }
    const auto [task, pool] = buffer_.pop();
    ++executed_;
    if (pool == 0) {
      settle(task, task->task_class().run(*task, *this));
    } else {
      TaskPool& source = tagged_pool(pool);
      execute_bound(task, source);
      source.left_buffer();
    }
    refill_if_waiting();
  }
}

void Worker::refill_if_waiting() noexcept {
  if (!ready_.empty() || !low_priority_.empty()) {
    refill();
  }
}

void Worker::refill() noexcept {
  while (buffer_.room() > 0) {
    MxTask* task = ready_.pop_front();
    if (task == nullptr) {
      if (low_priority_.empty() || own_locality_waits()) {
        return;
      }
      task = low_priority_.pop_front();
    }
    buffer_.push(task);
  }
}

bool Worker::run_batch() {
  const std::uint64_t start = executed_;
  while (executed_ - start < batch_tasks_) {
    epochs_.enter(id_);
    refill_from_pools();
    refill();
    refill_by_locality();
    if (buffer_.empty() && !steal()) {
      break;
    }
    load_.store(buffer_.size(), std::memory_order_relaxed);
    const std::uint64_t most = std::min(executed_ + kLookEvery, start + batch_tasks_);
    if (tuner_ != nullptr) [[unlikely]] {
      run_tuned(most);
    } else {
      run_look(most);
    }
  }
  if (stolen_ != nullptr && stolen_->in_buffer() == 0) {
    return_stolen();  // sockets may take a while
  }
  load_.store(buffer_.size(), std::memory_order_relaxed);
  count(counters_.tasks, executed_ - start);
  counters_.ended.store(ended_, std::memory_order_relaxed);
  return executed_ != start;
}

bool Worker::step() {
  Worker* const before = std::exchange(current_worker, this);
  epochs_.enter(id_);
  now_ns_ = runtime_.clock().monotonic_ns();
  now_us_ = runtime_.clock().steady_us(now_ns_);
  while (MxTask* const task = later_.pop_front()) {
    spawn(task);  // what says so once more waits for the round after this one
  }
  bool busy = poller_->poll(*this);
  busy = run_batch() || busy;
  busy = poller_->end_turn(*this) || busy;
  busy = maintain() || busy;
  count(counters_.rounds);
  current_worker = before;
  return busy;
}

void Worker::reclaim_all_stopped() {
  Worker* const before = std::exchange(current_worker, this);
  while (!retired_.empty()) {
    retired_.reclaim(EpochManager::kInfinity, ~std::size_t{0}, runtime_.reclaim_functions(), *this);
  }
  current_worker = before;
}

bool Worker::pools_ready() const noexcept {
  for (std::size_t slot = 0; slot < pools_.used(); ++slot) {
    const TaskPool* pool = pools_.at(slot);
    // What a thief leases is not ours to wait for: it tells us if tasks are left.
    if (pool != nullptr && (leases(pool->id()) || pool->state() == pool_state::ready)) {
      return true;
    }
  }
  return false;
}

bool Worker::prepare_to_park() noexcept {
  if (!buffer_.empty() || !ready_.empty() || !low_priority_.empty() || stolen_ != nullptr) {
    return false;
  }
  epochs_.leave(id_);
  items_.flush_foreign();
  nodes_.flush_foreign();
  account_.flush();
  return parking_.try_park(
      [this] { return pools_ready() || victims_ready() || locality_waiting() || runtime_.stopping(); });
}

void Worker::run() {
  const std::uint32_t spin_rounds = runtime_.options().spin_rounds;
  std::uint32_t idle_rounds = 0;
  while (!runtime_.stopping()) {
    const std::uint64_t ended_before = ended_;
    const std::uint64_t retries_before = counters_.retries.load(std::memory_order_relaxed);
    const bool busy = step();
    if (ended_ == ended_before && counters_.retries.load(std::memory_order_relaxed) != retries_before) {
      std::this_thread::yield();  // what they wait for may be with a worker that was preempted
    }
    // Where nothing ends and tasks wait for later, there is time to sleep a little.
    if (busy && (later_.empty() || ended_ != ended_before)) {
      idle_rounds = 0;
      continue;
    }
    if (++idle_rounds < spin_rounds) {
      cpu_relax();
      continue;
    }
    idle_rounds = 0;
    if (prepare_to_park()) {
      count(counters_.parks);
      const std::uint64_t interval_ns = std::uint64_t{runtime_.options().epoch.interval_ms} * 1'000'000;
      poller_->block(*this, !later_.empty()    ? kLaterAfterNs
                            : retired_.empty() ? Poller::kForever
                                               : interval_ns);
      unpark();
    }
  }
  epochs_.leave(id_);
}

std::size_t Worker::discard_tasks() noexcept {
  Worker* const before = std::exchange(current_worker, this);
  std::size_t discarded = 0;
  const auto discard = [this, &discarded](MxTask* task) {
    task->task_class().discard(*task, *this);
    ++discarded;
  };
  while (!buffer_.empty()) {
    const BufferedTask next = buffer_.pop();
    if (next.pool != 0) {
      tagged_pool(next.pool).left_buffer();
    }
    discard(next.task);
  }
  for (TaskList* list : {&ready_, &low_priority_, &later_}) {
    while (MxTask* task = list->pop_front()) {
      discard(task);
    }
  }
  while (MxTask* task = immediate_.take_oldest()) {
    discard(task);
  }
  DeferredQueue& deferred = runtime_.deferred_queue(locality_order_.group);
  while (MxTask* task = deferred.take(DeferredQueue::pick::oldest_spawned)) {
    discard(task);
  }
  for (std::size_t slot = 0; slot < pools_.used(); ++slot) {
    TaskPool* pool = pools_.at(slot);
    while (MxTask* task = pool != nullptr ? pool->next_task() : nullptr) {
      discard(task);
    }
  }
  current_worker = before;
  return discarded;
}

}  // namespace mxkv::runtime

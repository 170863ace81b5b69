#include "runtime/scheduler/worker.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/rebalancing/rebalancer.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

thread_local Worker* current_worker = nullptr;  // the context that `tasking::` functions spawn into

/// Makes a worker the calling thread's current one, for as long as it lives.
class CurrentWorker {
 public:
  explicit CurrentWorker(Worker* worker) noexcept : before_(std::exchange(current_worker, worker)) {}
  CurrentWorker(const CurrentWorker&) = delete;
  CurrentWorker& operator=(const CurrentWorker&) = delete;
  ~CurrentWorker() { current_worker = before_; }

 private:
  Worker* before_;
};

/// Tasks between two refills from pools, and looks at the global epoch, inside a batch.
constexpr std::uint64_t kTasksBetweenRefills = 256;

/// Frees what its worker retired. Free and without a place, so it runs where it was spawned.
class ReclaimTask final : public MxTask {
 public:
  static constexpr const char* kName = "reclaim";

  ReclaimTask(const TaskClass* task_class, Reclaimer::run kind) noexcept : MxTask(task_class), kind_(kind) {
    annotate(kind == Reclaimer::run::urgent ? priority::high : priority::low);
  }
  runtime::step execute(Worker& worker) {
    worker.reclaimer().begin(kind_, worker.runtime().reclaim_functions(), worker);
    return runtime::step::done;
  }
  void discard(Worker& worker) noexcept { worker.reclaimer().withdraw(kind_); }

 private:
  Reclaimer::run kind_;
};

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
      id_(id),
      node_(node),
      tasks_(runtime.task_memory().processor_heap(node)),
      window_(runtime.options().buffered_tasks),
      locality_(runtime.options().order, runtime.options().spill_above, counters_.refills),
      leases_(pools, runtime.pool_count()),
      heat_(runtime.rebalancer() == nullptr ? nullptr : runtime.rebalancer()->heat(id)),
      batch_tasks_(runtime.options().batch_tasks),
      fast_path_(runtime.options().fast_path),
      epoch_mode_(runtime.options().epoch.mode),
      account_(runtime.budget().account(id)),
      items_(runtime.item_space(), account_, id, node),
      nodes_(runtime.node_space(), account_, id, node),
      retire_blocks_(tasks_),
      reclaimer_(epochs_, id, runtime.options().epoch, retire_blocks_, account_, counters_),
      random_(0x6D786B76U + id.value()),
      parking_(runtime.parked_flags()) {
  set_prefetch(runtime.options().workers[id.index()].prefetch.value_or(runtime.options().prefetch));
}

Worker::~Worker() = default;

void Worker::connect(Neighbours neighbours, LocalityPeers peers) noexcept {
  neighbours_ = std::move(neighbours);
  locality_.connect(std::move(peers));
}

// --- Executing ---

void Worker::apply_step(MxTask* task, runtime::step wanted) noexcept {
  switch (wanted) {
    case step::done:
      finish(*task);
      return;
    case step::again:
    case step::now:
      if (goes_on(*task, wanted)) {
        window_.keep_place(task);
      } else {
        spawn(task);
      }
      return;
    case step::retry:
      put_back(task);
      return;
    case step::later:
      window_.add_later(task);
      return;
    case step::parked:
      return;
  }
  MXKV_ASSERT(false, "a task returns one of the steps");
}

// Behind other work, whatever its priority. Many waiting tasks of high priority, put back into the buffer,
// would leave no room there for the tasks that they wait for.
void Worker::put_back(MxTask* task) noexcept {
  count(counters_.retries);
  if (const std::uint32_t retries = retry_watch_.note(*task, now_ns_); retries != 0) [[unlikely]] {
    count(counters_.stuck, retries == RetryWatch::kMany ? 1 : 0);
    const bool long_enough = now_ns_ - retry_watch_.since_ns(*task) >= RetryWatch::kPatienceNs;
    if (Alarm* const alarm = runtime_.alarm(); alarm != nullptr && long_enough) {
      report_stuck(*alarm, id_, *task, retries);
    }
  }
  const task_route route = route_of(*task, id_);
  const bool urgent = route == task_route::to_urgent && task->annotations().target == Annotations::kAnyWorker;
  spawn_by(urgent ? task_route::to_ready : route, task);
}

void Worker::execute(const BufferedTask& next) noexcept {
  MxTask* const task = next.task;
  if (next.pool == 0) {
    apply_step(task, task->task_class().run(*task, *this));
    return;
  }
  TaskPool& pool = leases_.tagged(next.pool);
  MXKV_ASSERT(leases_.holds(pool.id()), "a pool's tasks run under its lease");
  // The pool in the tagged pointer was a hint; the object's header decides.
  const bool bound = is_bound(*task);
  if (bound && !task->object().object()->lives_in(pool.id())) [[unlikely]] {
    const Annotations& notes = task->annotations();
    task->annotate_lines(TaggedPointer{task->object().object(), task->object().marks()}, notes.first_line,
                         notes.line_count);
    count(counters_.forwarded);
    if (const auto forwarded = task->task_class().forwarded; forwarded != nullptr) {
      forwarded(*task, *this);
    }
    spawn(task);
  } else {
    count(counters_.bound, bound ? 1 : 0);
    apply_step(task, task->task_class().run(*task, *this));
  }
  pool.left_buffer();
}

void Worker::run_until(std::uint64_t executed) noexcept {
  PrefetchBuffer& buffer = window_.buffer();
  while (executed_ < executed && !buffer.empty()) {
    const auto run_stretch = buffer.front().task->task_class().run_stretch;
    const std::uint64_t most = executed - executed_;
    std::uint64_t left = most;
    if (run_stretch != nullptr && fast_path_) {
      left = run_stretch(*this, most);
    }
    if (left == most) {
      execute(buffer.pop());
      --left;
    }
    executed_ += most - left;
    if (window_.any_waits()) {
      refill();
    }
  }
}

// Each task in an epoch of its own. Work that is no task, such as a poller's turn, is in an epoch, too.
void Worker::run_in_epochs(std::uint64_t executed) noexcept {
  while (executed_ < executed && !window_.buffer().empty()) {
    epochs_.enter(id_);
    run_until(executed_ + 1);
    epochs_.leave(id_);
  }
  epochs_.enter(id_);
}

bool Worker::run_batch() {
  const std::uint64_t start = executed_;
  PrefetchBuffer& buffer = window_.buffer();
  charged_ = 0;
  while (executed_ - start + charged_ < batch_tasks_) {
    epochs_.enter(id_);
    refill_from_pools();
    refill();
    locality_.refill(window_);
    if (buffer.empty() && !steal()) {
      break;
    }
    load_.store(buffer.size(), std::memory_order_relaxed);
    const auto run = [this, until = std::min(executed_ + kTasksBetweenRefills, start + batch_tasks_)] {
      const std::uint64_t before = executed_;
      if (epoch_mode_ == epoch_mode::task) [[unlikely]] {
        run_in_epochs(until);
      } else {
        run_until(until);
      }
      return executed_ - before;
    };
    if (prefetching_.tunes()) [[unlikely]] {
      prefetching_.observe(buffer, runtime_.clock(), run);
    } else {
      run();
    }
  }
  if (leases_.stolen_ran()) {
    return_stolen();  // sockets may take a while
  }
  load_.store(buffer.size(), std::memory_order_relaxed);
  count(counters_.tasks, executed_ - start);
  counters_.ended.store(ended_, std::memory_order_relaxed);
  return executed_ != start;
}

bool Worker::step() {
  MXKV_ASSERT(poller_ != nullptr, "a worker has a poller before its first round");
  const CurrentWorker current{this};
  epochs_.enter(id_);
  now_ns_ = runtime_.clock().monotonic_ns();
  now_us_ = runtime_.clock().steady_us(now_ns_);
  window_.begin_round([this](MxTask* task) { spawn(task); });
  bool busy = poller_->poll(*this);
  busy = run_batch() || busy;
  busy = poller_->end_turn(*this) || busy;
  busy = maintain() || busy;
  count(counters_.rounds);
  return busy;
}

// --- Memory ---

// Returns whether there is a task to run now.
bool Worker::maintain() {
  if (Rebalancer* const rebalancer = runtime_.rebalancer(); rebalancer != nullptr) [[unlikely]] {
    rebalancer->tick(*this, now_ns_);
  }
  items_.collect();
  nodes_.collect();
  if (!reclaimer_.tick(now_ns_)) {
    return false;
  }
  const Reclaimer::run kind = reclaimer_.due();
  // A usual run that finds no room now comes in a later round: a list that is never empty costs every task a
  // look.
  const bool crowded = window_.any_ready() || window_.buffer().room() == 0 || locality_.own_wait();
  if (reclaimer_.announced(kind) || (kind == Reclaimer::run::usual && crowded)) {
    return false;
  }
  reclaimer_.announce(kind);
  spawn(create<ReclaimTask>(kind));
  return true;
}

void Worker::reclaim_now() {
  reclaimer_.run_now(runtime_.reclaim_functions(), *this);
  items_.collect();
  nodes_.collect();
}

void Worker::reclaim_all_stopped() {
  const CurrentWorker current{this};
  reclaimer_.drain_stopped(runtime_.reclaim_functions(), *this);
}

std::size_t Worker::discard_tasks() noexcept {
  const CurrentWorker current{this};
  std::size_t discarded = 0;
  const auto discard = [this, &discarded](MxTask* task) {
    task->task_class().discard(*task, *this);
    ++discarded;
  };
  while (!window_.buffer().empty()) {
    const BufferedTask next = window_.buffer().pop();
    if (next.pool != 0) {
      leases_.tagged(next.pool).left_buffer();
    }
    discard(next.task);
  }
  while (MxTask* const task = window_.take_waiting()) {
    discard(task);
  }
  while (MxTask* const task = locality_.take_waiting()) {
    discard(task);
  }
  for (std::size_t slot = 0; slot < leases_.owned().used(); ++slot) {
    TaskPool* const pool = leases_.owned().at(slot);
    while (MxTask* const task = pool != nullptr ? pool->next_task() : nullptr) {
      discard(task);
    }
  }
  return discarded;
}

}  // namespace mxkv::runtime

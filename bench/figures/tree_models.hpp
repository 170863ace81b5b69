// The same Blink-tree operations under three programming models: tasks of the runtime, plain threads, tasks
// of oneTBB. All run the same task classes over the same nodes; what differs is who drives them.
//
//   MxTasks   workers as in the product: many operations in flight, lines prefetched.
//   threads   a thread takes one operation and drives it from the root to its end: guarded execution without a
//             scheduler. Its worker gives it heaps and an epoch, and executes what operations spawn
//             (separators of splits) every kHopsBetweenSteps hops.
//   oneTBB    the same inside TBB's tasks, of one or more operations each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "bench/index/tree_work.hpp"
#include "runtime/synchronization/guarded_execute.hpp"

namespace mxkv::bench {

enum class tree_operation : std::uint8_t { insert, update, look_up };

/// Operations that all workers share: they take them by ranges, wherever a task that needs the next one runs.
class SharedWork {
 public:
  /// `chained`: a task goes on with the next operation; otherwise it ends after one.
  SharedWork(tree_operation what, std::uint64_t operations, std::uint64_t keys, bool chained,
             std::size_t workers)
      : what_(what), operations_(operations), keys_(keys), chained_(chained), shares_(workers) {
    for (std::size_t i = 0; i < workers; ++i) {
      shares_[i].random = runtime::Random{i + 1};
    }
  }

  [[nodiscard]] tree_operation what() const noexcept { return what_; }
  [[nodiscard]] bool chained() const noexcept { return chained_; }
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  /// The next operation's key, or false: all are taken. Owner worker of `worker` only.
  [[nodiscard]] bool next(runtime::WorkerId worker, std::uint64_t& key) noexcept {
    Share& share = shares_[worker.index()];
    if (share.next == share.end) {
      share.next = taken_.fetch_add(kRange, std::memory_order_relaxed);
      share.end = share.next + kRange < operations_ ? share.next + kRange : operations_;
      if (share.next >= operations_) {
        share.next = share.end = 0;
        return false;
      }
    }
    key = key_for(share.next++, worker);
    return true;
  }
  /// The key of operation number `i`.
  [[nodiscard]] std::uint64_t key_for(std::uint64_t i, runtime::WorkerId worker) noexcept {
    return key_of(what_ == tree_operation::insert ? i : shares_[worker.index()].random.below(keys_));
  }
  /// Whether no worker finds another range: what it still has of its last one is all that is left to it.
  [[nodiscard]] bool all_taken() const noexcept {
    return taken_.load(std::memory_order_relaxed) >= operations_;
  }
  void finished(runtime::WorkerId worker, bool right) noexcept {
    Share& share = shares_[worker.index()];
    share.finished.store(share.finished.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    share.wrong += right ? 0 : 1;
  }
  [[nodiscard]] bool all_finished() const noexcept {
    std::uint64_t sum = 0;
    for (const Share& share : shares_) {
      sum += share.finished.load(std::memory_order_relaxed);
    }
    return sum >= operations_;
  }
  /// When nobody works any more.
  [[nodiscard]] std::uint64_t wrong() const noexcept {
    std::uint64_t sum = 0;
    for (const Share& share : shares_) {
      sum += share.wrong;
    }
    return sum;
  }

 private:
  static constexpr std::uint64_t kRange = 256;
  struct alignas(2 * runtime::kCacheLineBytes) Share {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::uint64_t wrong = 0;
    std::atomic<std::uint64_t> finished{0};  // relaxed: a count, read by others to know when to stop
    runtime::Random random{1};
  };

  tree_operation what_;
  std::uint64_t operations_;
  std::uint64_t keys_;
  bool chained_;
  std::vector<Share> shares_;
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> taken_{0};
};

/// What look-ups and writes of SharedWork have in common; Base is index's task class.
template <class Base>
class ModelTask : public Base {
 public:
  ModelTask(const runtime::TaskClass* task_class, IntegerTree& tree, SharedWork& work,
            std::uint64_t key) noexcept
      : Base(task_class, tree), key_(key), work_(&work) {}
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  /// Readies the task for being driven by hand.
  void begin(runtime::Worker& worker) {
    worker.pin(*this);
    this->aim_at_root();
  }

 protected:
  runtime::step next(bool right, runtime::Worker& worker) {
    work_->finished(worker.id(), right);
    if (!work_->chained() || !work_->next(worker.id(), key_)) {
      return runtime::step::done;
    }
    worker.repin(*this);
    return this->restart(false);
  }
  [[nodiscard]] const SharedWork& work() const noexcept { return *work_; }

 private:
  std::uint64_t key_;
  SharedWork* work_;
};

class ModelRead final : public ModelTask<index::LookupTask<ModelRead, IntegerTraits>> {
 public:
  using ModelTask::ModelTask;
  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    return next(value == ~key(), worker);
  }
  runtime::step on_missing(runtime::Worker& worker) { return next(false, worker); }
};

class ModelWrite final : public ModelTask<index::UpdateTask<ModelWrite, IntegerTraits>> {
 public:
  using ModelTask::ModelTask;
  index::Decision decide(bool, std::uint64_t, runtime::Worker&) {
    return {index::Decision::what::put, ~key()};
  }
  index::Change commit(NodeT&, bool, std::uint64_t, std::uint64_t, runtime::Worker&) noexcept { return {}; }
  runtime::step committed(bool found, std::uint64_t, runtime::Worker& worker) {
    return next(found != (work().what() == tree_operation::insert), worker);
  }
  runtime::step left(bool, std::uint64_t, runtime::Worker& worker) { return next(false, worker); }
  runtime::step out_of_memory(runtime::Worker& worker) { return next(false, worker); }
};

/// Hops that a thread drives by hand until it lets its worker do what was spawned meanwhile.
inline constexpr std::uint32_t kHopsBetweenSteps = 256;

/// Drives one task from its begin() to its end, on the calling thread and with `worker`'s heaps and epoch.
template <class Task>
void drive(IntegerTree& tree, SharedWork& work, std::uint64_t key, runtime::Worker& worker,
           std::uint32_t& hops) {
  Task* const task = worker.create<Task>(tree, work, key);
  task->begin(worker);
  for (;;) {
    runtime::step next = runtime::step::again;
    if (!task->run_fast(worker, next)) {
      next = runtime::guarded_execute(*task, worker, [](runtime::PoolId) { return false; });
    }
    if (next == runtime::step::done) {
      break;
    }
    if (next == runtime::step::retry) {
      runtime::cpu_relax();
    }
    if (++hops % kHopsBetweenSteps == 0) {
      worker.step();
    }
  }
  worker.finish(*task);
}

/// drive() with the task that `work` is about.
inline void drive_operation(IntegerTree& tree, SharedWork& work, std::uint64_t key, runtime::Worker& worker,
                            std::uint32_t& hops) {
  if (work.what() == tree_operation::look_up) {
    drive<ModelRead>(tree, work, key, worker, hops);
  } else {
    drive<ModelWrite>(tree, work, key, worker, hops);
  }
}

/// What of the runtime a figure compares.
struct ModelOptions {
  runtime::prefetch_mode prefetch = runtime::PrefetchOptions{}.mode;
  runtime::stealing_scope stealing = runtime::RuntimeOptions{}.stealing;
};

/// A runtime of some workers and a tree on it, whose nodes are all synchronised by `how`.
struct ModelTree {
  ModelTree(std::size_t workers, runtime::primitive how, const ModelOptions& options = {});

  runtime::SystemClock clock;
  runtime::Runtime runtime;
  IntegerTree tree;

  /// Executes what was spawned and is left over. When no thread works any more.
  void settle();
};

/// Seconds that `work` takes under each model.
double run_mxtasks(ModelTree& on, SharedWork& work, std::uint64_t in_flight);
double run_threads(ModelTree& on, SharedWork& work);
#if MXKV_HAVE_TBB
/// `work` is not chained; a TBB task does `operations_a_task` of it.
double run_tbb(ModelTree& on, SharedWork& work, std::uint64_t operations_a_task);
#endif

}  // namespace mxkv::bench

// The same Blink-tree operations under three programming models: tasks of the runtime, plain threads, tasks
// of oneTBB. All work on the same nodes with the same searches, and guard them by the same versions and latches.
//
//   MxTasks   workers as in the product: many operations in flight, lines prefetched.
//   threads   a thread takes one operation and walks the nodes from the root to its end (direct_walk.hpp). Its
//             worker gives it heaps and an epoch. It executes an operation that needs a split as a task, alone, and
//             its worker executes the separators of splits every kOperationsBetweenSteps operations.
//   oneTBB    the same inside TBB's tasks, of one or more operations each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "bench/index/tree_work.hpp"
#include "bench/workload/zipfian.hpp"
#include "runtime/synchronization/guarded_execute.hpp"

namespace mxkv::bench {

#if MXKV_HAVE_TBB
inline constexpr bool kHasTbb = true;
#else
inline constexpr bool kHasTbb = false;
#endif

enum class tree_operation : std::uint8_t {
  insert,
  update,
  look_up,
  read_update,  ///< half of each, as YCSB A
};

/// Records whose ways through the tree, some 20 lines each, stay in the second-level cache. The difference
/// between an operation's time among all keys and among these, in the same tree, is an estimate of its
/// stalls.
inline constexpr std::uint64_t kCachedKeys = 256;

/// Records by YCSB's scrambled zipfian. A draw takes longer than a look-up in cache, so the draws are made
/// beforehand and repeated; each worker begins at another one.
[[nodiscard]] std::vector<std::uint32_t> popular_records(std::uint64_t keys);

/// Operations that all workers share. A worker takes a range of them when one of its tasks needs the next
/// operation.
class SharedWork {
 public:
  struct Next {
    std::uint64_t key;
    bool writes;
  };
  /// `chained`: a task goes on with the next operation; otherwise it ends after one. `popular`: the records that
  /// reads and updates draw from; null: uniformly from all `keys`. Inserts go on from insert_from().
  SharedWork(tree_operation what, std::uint64_t operations, std::uint64_t keys, bool chained,
             std::size_t workers, const std::vector<std::uint32_t>* popular = nullptr)
      : what_(what),
        operations_(operations),
        keys_(keys),
        chained_(chained),
        popular_(popular),
        shares_(workers) {
    for (std::size_t i = 0; i < workers; ++i) {
      shares_[i].random = runtime::Random{i + 1};
      shares_[i].next_popular = popular == nullptr ? 0 : popular->size() * i / workers;
    }
  }

  /// The first record that is inserted, if not 0.
  void insert_from(std::uint64_t record) noexcept { first_insert_ = record; }
  [[nodiscard]] tree_operation what() const noexcept { return what_; }
  [[nodiscard]] bool chained() const noexcept { return chained_; }
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  /// The next operation, or false: all are taken. Owner worker of `worker` only.
  [[nodiscard]] bool next(runtime::WorkerId worker, Next& next) noexcept {
    Share& share = shares_[worker.index()];
    if (share.next == share.end) {
      share.next = taken_.fetch_add(kRange, std::memory_order_relaxed);
      share.end = share.next + kRange < operations_ ? share.next + kRange : operations_;
      if (share.next >= operations_) {
        share.next = share.end = 0;
        return false;
      }
    }
    next = number(share.next++, worker);
    return true;
  }
  /// Operation number `i`.
  [[nodiscard]] Next number(std::uint64_t i, runtime::WorkerId worker) noexcept {
    if (what_ == tree_operation::insert) {
      return {key_of(first_insert_ + i), true};
    }
    Share& share = shares_[worker.index()];
    const bool writes = what_ == tree_operation::update ||
                        (what_ == tree_operation::read_update && (share.random() >> 63U) != 0);
    if (popular_ == nullptr) {
      return {key_of(share.random.below(keys_)), writes};
    }
    share.next_popular = share.next_popular + 1 < popular_->size() ? share.next_popular + 1 : 0;
    return {key_of((*popular_)[share.next_popular]), writes};
  }
  /// Whether there is no further range: each worker has only the rest of its last one.
  [[nodiscard]] bool all_taken() const noexcept {
    return taken_.load(std::memory_order_relaxed) >= operations_;
  }
  void finished(runtime::WorkerId worker, bool wrote, bool right) noexcept {
    Share& share = shares_[worker.index()];
    share.written += wrote ? 1 : 0;
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
  // Only when no thread works any more.
  [[nodiscard]] std::uint64_t wrong() const noexcept { return sum_of(&Share::wrong); }
  [[nodiscard]] std::uint64_t written() const noexcept { return sum_of(&Share::written); }

 private:
  static constexpr std::uint64_t kRange = 256;
  struct alignas(2 * runtime::kCacheLineBytes) Share {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::uint64_t wrong = 0;
    std::uint64_t written = 0;
    std::uint64_t next_popular = 0;
    std::atomic<std::uint64_t> finished{0};  // relaxed: a count, read by others to know when to stop
    runtime::Random random{1};
  };
  [[nodiscard]] std::uint64_t sum_of(std::uint64_t Share::* number) const noexcept {
    std::uint64_t sum = 0;
    for (const Share& share : shares_) {
      sum += share.*number;
    }
    return sum;
  }

  tree_operation what_;
  std::uint64_t operations_;
  std::uint64_t keys_;
  bool chained_;
  std::uint64_t first_insert_ = 0;
  const std::vector<std::uint32_t>* popular_;
  std::vector<Share> shares_;
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> taken_{0};
};

/// Begins an operation as a task, pinned and on its way.
void start_operation(IntegerTree& tree, SharedWork& work, SharedWork::Next next, runtime::Worker& worker);

/// The common part of look-ups and writes of SharedWork; Base is index's task class.
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
    work_->finished(worker.id(), Base::kWrites, right);
    SharedWork::Next next{};
    if (!work_->chained() || !work_->next(worker.id(), next)) {
      return runtime::step::done;
    }
    if (next.writes != Base::kWrites) {
      start_operation(this->tree(), *work_, next, worker);
      return runtime::step::done;
    }
    key_ = next.key;
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

/// The settings of the runtime that figures compare.
struct ModelOptions {
  runtime::prefetch_mode prefetch = runtime::PrefetchOptions{}.mode;
  std::uint32_t window = runtime::PrefetchOptions{}.window;
  runtime::epoch_mode epochs = runtime::EpochOptions{}.mode;
  runtime::stealing_scope stealing = runtime::RuntimeOptions{}.stealing;
};

/// The synchronisation of a tree's nodes.
struct NodePrimitives {
  runtime::primitive leaves;
  runtime::primitive inner_nodes;
};
[[nodiscard]] constexpr NodePrimitives all_nodes(runtime::primitive how) noexcept {
  return {how, how};
}
/// The papers' own: the rare writers of inner nodes are scheduled, leaves are latched.
inline constexpr NodePrimitives kPapersMix{runtime::primitive::optimistic_latch,
                                           runtime::primitive::optimistic_scheduling};

/// A runtime of some workers and a tree on it.
struct ModelTree {
  ModelTree(std::size_t workers, NodePrimitives how, const ModelOptions& options = {});

  runtime::SystemClock clock;
  runtime::Runtime runtime;
  IntegerTree tree;

  /// Executes leftover tasks. Only when no thread works any more.
  void settle();
  /// Tasks that all workers have executed.
  [[nodiscard]] std::uint64_t tasks() noexcept;
};

/// Seconds that `work`, which is chained, takes as tasks.
double run_mxtasks(ModelTree& on, SharedWork& work, std::uint64_t in_flight);
/// The same by worker 0 on the calling thread, in seconds of its CPU time.
double run_alone(ModelTree& on, SharedWork& work, std::uint64_t in_flight);
/// The same by threads. `work` is not chained; all nodes are guarded as the tree's leaves are.
double run_threads(ModelTree& on, SharedWork& work);
#if MXKV_HAVE_TBB
/// The same by threads of TBB, whose tasks do `operations_a_task` operations each.
double run_tbb(ModelTree& on, SharedWork& work, std::uint64_t operations_a_task);
#endif

}  // namespace mxkv::bench

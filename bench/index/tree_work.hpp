// Work on a tree of 64-bit keys, for measurements: the keys, the shared state of a run, and tasks that look
// up, insert or update, each again and again until the run's operations are used up.
#pragma once

#include <cstdint>

#include "bench/index/keys.hpp"
#include "index/lookup_task.hpp"
#include "index/update_task.hpp"
#include "runtime/base/random.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::bench {

using IntegerTraits = index::IntegerTraits<>;
using IntegerTree = index::Tree<IntegerTraits>;

/// State that all operations of one run share. Thread-safety: one worker.
struct Run {
  std::uint64_t keys = 0;   ///< the value of key_of(i) is ~key_of(i)
  std::uint64_t first = 0;  ///< number of the first of them
  std::uint64_t started = 0;
  std::uint64_t finished = 0;
  std::uint64_t wanted = 0;
  std::uint64_t wrong = 0;
  std::uint64_t next_insert = 0;
  runtime::Random random{1};
};

class ReadTask final : public index::LookupTask<ReadTask, IntegerTraits> {
 public:
  ReadTask(const runtime::TaskClass* task_class, IntegerTree& tree, Run& run) noexcept
      : LookupTask(task_class, tree), run_(&run) {
    key_ = key_of(run.first + run.random.below(run.keys));
    ++run.started;
  }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    return next(value == ~key_, worker);
  }
  runtime::step on_missing(runtime::Worker& worker) { return next(false, worker); }

 private:
  runtime::step next(bool right, runtime::Worker& worker) {
    ++run_->finished;
    run_->wrong += right ? 0 : 1;
    if (run_->started >= run_->wanted) {
      return runtime::step::done;
    }
    ++run_->started;
    key_ = key_of(run_->first + run_->random.below(run_->keys));
    worker.repin(*this);
    return restart(false);
  }
  std::uint64_t key_;
  Run* run_;
};
static_assert(sizeof(ReadTask) <= 64, "a look-up fits one cache line");

class WriteTask final : public index::UpdateTask<WriteTask, IntegerTraits> {
 public:
  WriteTask(const runtime::TaskClass* task_class, IntegerTree& tree, Run& run, bool insert) noexcept
      : UpdateTask(task_class, tree), run_(&run), insert_(insert) {
    choose();
  }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  index::Decision decide(bool /*found*/, std::uint64_t /*old*/, runtime::Worker&) {
    return {index::Decision::what::put, ~key_};
  }
  index::Change commit(NodeT&, bool, std::uint64_t, std::uint64_t, runtime::Worker&) noexcept { return {}; }
  runtime::step committed(bool found, std::uint64_t, runtime::Worker& worker) {
    return next(found != insert_, worker);
  }
  runtime::step left(bool, std::uint64_t, runtime::Worker& worker) { return next(false, worker); }
  runtime::step out_of_memory(runtime::Worker& worker) { return next(false, worker); }

 private:
  void choose() noexcept {
    key_ = key_of(run_->first + (insert_ ? run_->next_insert++ : run_->random.below(run_->keys)));
    ++run_->started;
  }
  runtime::step next(bool right, runtime::Worker& worker) {
    ++run_->finished;
    run_->wrong += right ? 0 : 1;
    if (run_->started >= run_->wanted) {
      return runtime::step::done;
    }
    choose();
    worker.repin(*this);
    return restart(false);
  }
  std::uint64_t key_ = 0;
  Run* run_;
  bool insert_;
};

/// Executes `operations` on worker 0, at most `in_flight` at once; `spawn(worker)` begins one.
template <class Spawn>
void execute(runtime::Runtime& runtime, Run& run, std::uint64_t operations, std::uint64_t in_flight,
             const Spawn& spawn) {
  runtime::Worker& worker = runtime.worker(runtime::WorkerId{0});
  run.started = run.finished = 0;
  run.wanted = operations;
  runtime.epochs().enter(worker.id());
  for (std::uint64_t i = 0; i < in_flight && run.started < run.wanted; ++i) {
    spawn(worker);
  }
  while (run.finished < run.wanted) {
    worker.step();
  }
}

}  // namespace mxkv::bench

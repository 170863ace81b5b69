// Shared by tests of the runtime: workers driven by hand, tasks made of lambdas, objects with a header.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime::testing {

/// Workers that are left to the system's scheduler, on one node, with 4 KiB pages, and that do not steal.
inline RuntimeOptions unpinned(std::size_t workers) {
  RuntimeOptions options;
  options.workers.resize(workers, WorkerPlacement{.pinned = false});
  options.memory.huge_pages = huge_pages_mode::off;
  options.memory.numa_placement = false;
  options.stealing = stealing_scope::off;
  options.order_reach = stealing_scope::off;
  return options;
}

/// A poller that only notes that it was woken.
class Bell final : public Poller {
 public:
  bool poll(Worker&) override { return false; }
  bool end_turn(Worker&) override { return false; }
  void block(Worker&, std::uint64_t) override {}
  void wake() noexcept override { ++rung; }
  int rung = 0;
};

/// A runtime that is never started: the test steps its workers, on one thread, in any order.
struct Machine {
  explicit Machine(std::size_t workers) : Machine(unpinned(workers)) {}
  explicit Machine(RuntimeOptions options) : runtime(std::move(options), clock) {}

  Worker& operator[](std::size_t worker) {
    return runtime.worker(WorkerId{static_cast<std::uint16_t>(worker)});
  }
  /// Steps all workers in turn until none found anything to do.
  void run_until_idle() {
    bool busy = true;
    while (busy) {
      busy = false;
      for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
        busy = (*this)[i].step() || busy;
      }
    }
  }

  ManualClock clock;
  Runtime runtime;
};

/// A task that runs a lambda `step(MxTask&, Worker&)` once its object's primitive lets it.
template <class Body>
class LambdaTask final : public MxTask {
 public:
  LambdaTask(const TaskClass* task_class, Body body) noexcept : MxTask(task_class), body_(body) {}
  step execute(Worker& worker) { return body_(*this, worker); }

 private:
  static_assert(std::is_trivially_destructible_v<Body>, "finished tasks are freed, not destroyed");
  Body body_;
};

template <class Body>
LambdaTask<Body>* lambda_task(Worker& worker, Body body) {
  return worker.create<LambdaTask<Body>>(body);
}

/// A data object: whole lines of relaxed words behind a header.
template <std::size_t kWords = 6>
struct alignas(kCacheLineBytes) Words : DataObject {
  Words(PoolId pool, primitive how) noexcept : DataObject(pool, how) {
    for (RelaxedWord& word : words) {
      word.store(0);
    }
  }
  [[nodiscard]] TaggedPointer tagged(unsigned marks = 0) const noexcept { return {this, marks}; }

  RelaxedWord words[kWords];
};

/// One object in each of the first worker's four pools, and tasks on them that note which worker ran them.
struct PooledObjects {
  explicit PooledObjects(const RuntimeOptions& options) : machine(options) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      objects.emplace_back(machine.runtime.pool_for_object(WorkerId{0}, i),
                           primitive::serialized_by_scheduling);
    }
    for (std::size_t i = 0; i < machine.runtime.worker_count(); ++i) {
      machine[i].set_poller(bells.emplace_back());
    }
  }
  void spawn(std::size_t object, Worker& from) {
    MxTask* task = lambda_task(from, [this](MxTask& self, Worker& on) {
      EXPECT_TRUE(on.leases(self.object().object()->pool()));
      ran_on.push_back(on.id());
      return step::done;
    });
    task->annotate(objects[object].tagged(), 64);
    from.spawn(task);
  }
  [[nodiscard]] TaskPool& pool(std::size_t i) { return machine.runtime.pool(objects[i].pool()); }

  std::deque<Bell> bells;  // before the machine: its end wakes the workers
  Machine machine;
  std::deque<Words<>> objects;
  std::vector<WorkerId> ran_on;
};

}  // namespace mxkv::runtime::testing

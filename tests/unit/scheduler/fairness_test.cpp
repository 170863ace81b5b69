// No task starves: free tasks, each pool of a worker, and each task of a pool get their turn under full load.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::unpinned;
using testing::Words;

/// Objects of one worker, one a pool, and tasks on them that respawn themselves until `stop`.
struct Load {
  Load() : machine{small_batches()} {
    for (std::uint64_t spread = 0; spread < kPools; ++spread) {
      objects.emplace_back(machine.runtime.pool_for_object(WorkerId{0}, spread),
                           primitive::serialized_by_scheduling);
    }
  }
  static RuntimeOptions small_batches() {
    RuntimeOptions options = unpinned(1);
    options.batch_tasks = 256;
    options.prefetch.window = 16;
    options.pools_per_worker = kPools;
    return options;
  }
  void keep_busy(std::size_t object, int tasks) {
    for (int i = 0; i < tasks; ++i) {
      MxTask* busy = lambda_task(machine[0], [this, object](MxTask&, Worker&) {
        ++ran[object];
        return stop ? step::done : step::again;
      });
      busy->annotate(objects[object].tagged(), 64);
      machine[0].spawn(busy);
    }
  }
  void keep_busy_with_free_tasks(int tasks) {
    for (int i = 0; i < tasks; ++i) {
      machine[0].spawn(lambda_task(machine[0], [this](MxTask&, Worker& worker) {
        ++free_ran;
        if (!stop) {
          // A new task instead of step::again: it has to get through the window each time.
          worker.spawn(lambda_task(worker, [](MxTask&, Worker&) { return step::done; }));
        }
        return stop ? step::done : step::retry;
      }));
    }
  }
  void step(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      machine[0].step();
    }
  }
  void finish() {
    stop = true;
    machine.run_until_idle();
  }

  /// So many that their quanta exceed the tasks executed between two looks: the buffer stays full.
  static constexpr std::size_t kPools = 8;
  Machine machine;
  std::deque<Words<>> objects;
  std::vector<std::uint64_t> ran = std::vector<std::uint64_t>(kPools, 0);
  std::uint64_t free_ran = 0;
  bool stop = false;
};

TEST(Fairness, APoolGetsItsTurnThoughFreeTasksFillTheWindow) {
  Load load;
  load.keep_busy_with_free_tasks(200);
  load.step(2);
  load.keep_busy(1, 1);
  load.step(4);
  EXPECT_GE(load.ran[1], 4U);
  load.finish();
}

TEST(Fairness, WaitingFreeTasksGetTheirTurnThoughOthersRespawnWithoutEnd) {
  Load load;
  for (int i = 0; i < 64; ++i) {
    load.machine[0].spawn(lambda_task(
        load.machine[0], [&load](MxTask&, Worker&) { return load.stop ? step::done : step::again; }));
  }
  load.step(2);
  bool newcomer_ran = false;
  load.machine[0].spawn(lambda_task(load.machine[0], [&newcomer_ran](MxTask&, Worker&) {
    newcomer_ran = true;
    return step::done;
  }));
  load.step(30);
  EXPECT_TRUE(newcomer_ran);
  load.finish();
}

TEST(Fairness, FreeTasksGetTheirTurnThoughPoolsFillTheBuffer) {
  Load load;
  for (std::size_t object = 0; object < Load::kPools; ++object) {
    load.keep_busy(object, 300);
  }
  load.step(10);
  load.keep_busy_with_free_tasks(1);
  load.step(10);
  EXPECT_GE(load.free_ran, 1U);
  load.finish();
}

TEST(Fairness, EachOfManyBusyPoolsGetsItsTurn) {
  Load load;
  for (std::size_t object = 0; object < Load::kPools; ++object) {
    load.keep_busy(object, 600);
  }
  load.step(100);
  std::uint64_t total = 0;
  for (const std::uint64_t ran : load.ran) {
    total += ran;
  }
  for (std::size_t object = 0; object < Load::kPools; ++object) {
    EXPECT_GE(load.ran[object], total / Load::kPools / 4) << "pool " << object;
  }
  load.finish();
}

TEST(Fairness, ThePinnedPoolGetsItsTurnThoughAllOthersAreBusy) {
  Load load;
  for (std::size_t object = 0; object < Load::kPools; ++object) {
    load.keep_busy(object, 600);
  }
  load.step(10);
  bool submitted_ran = false;
  load.machine.runtime.submit(lambda_task(load.machine[0],
                                          [&submitted_ran](MxTask&, Worker&) {
                                            submitted_ran = true;
                                            return step::done;
                                          }),
                              WorkerId{0});
  load.step(10);
  EXPECT_TRUE(submitted_ran);
  load.finish();
}

TEST(Fairness, TasksFromOutsideGetTheirTurnInABusyPool) {
  Load load;
  load.keep_busy(2, 600);
  load.step(5);
  bool visitor_ran = false;
  MxTask* visitor = lambda_task(load.machine[0], [&visitor_ran](MxTask&, Worker&) {
    visitor_ran = true;
    return step::done;
  });
  visitor->annotate(load.objects[2].tagged(), 64);
  static_cast<void>(load.machine.runtime.pool(load.objects[2].pool()).spawn(visitor));
  load.step(10);
  EXPECT_TRUE(visitor_ran);
  load.finish();
}

TEST(Fairness, WhatWaitsForTheNextRoundRunsOnceARound) {
  Load load;
  int ran = 0;
  load.machine[0].spawn(lambda_task(
      load.machine[0], [&ran](MxTask&, Worker&) { return ++ran < 4 ? step::later : step::done; }));
  for (int round = 1; round <= 4; ++round) {
    load.step(1);
    EXPECT_EQ(ran, round);
  }
  load.step(3);
  EXPECT_EQ(ran, 4);
  load.finish();
}

/// More than a prefetch buffer holds.
constexpr int kManyTasks = 600;

TEST(Fairness, AWaitingTaskGetsItsTurnThoughMoreUrgentOnesTryAgainForItThanTheBufferHolds) {
  Load load;
  bool ran = false;
  int ended = 0;
  for (int i = 0; i < kManyTasks; ++i) {
    MxTask* const urgent = lambda_task(load.machine[0], [&](MxTask&, Worker&) {
      ended += ran ? 1 : 0;
      return ran ? step::done : step::retry;
    });
    urgent->annotate(priority::high);
    load.machine[0].spawn(urgent);
  }
  load.step(2);
  load.machine[0].spawn(lambda_task(load.machine[0], [&ran](MxTask&, Worker&) {
    ran = true;
    return step::done;
  }));
  load.step(100);
  EXPECT_TRUE(ran);
  ran = true;
  load.machine.run_until_idle();
  EXPECT_EQ(ended, kManyTasks);
}

// Each task gives up its place in the buffer after many hops, like a task that walks far to find that it has
// to wait.
TEST(Fairness, APoolGetsItsTurnThoughMoreFreeTasksThanTheBufferHoldsGoFarAndTryAgain) {
  constexpr std::uint64_t kHops = 400;
  Load load;
  for (int i = 0; i < kManyTasks; ++i) {
    load.machine[0].spawn(
        lambda_task(load.machine[0], [&load, hops = std::uint64_t(i)](MxTask&, Worker&) mutable {
          if (load.stop) {
            return step::done;
          }
          return ++hops % kHops == 0 ? step::retry : step::again;
        }));
  }
  load.step(1000);
  load.keep_busy(1, 1);
  load.step(400);
  EXPECT_GE(load.ran[1], 1U);
  load.finish();
}

}  // namespace
}  // namespace mxkv::runtime

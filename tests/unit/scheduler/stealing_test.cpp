// Idle workers take whole pools of busy ones, run from them under the lease, and give them back.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Bell;
using testing::lambda_task;
using testing::Machine;
using testing::Words;

RuntimeOptions sharing(std::size_t workers, stealing_scope scope = stealing_scope::machine) {
  RuntimeOptions options = testing::unpinned(workers);
  options.stealing = scope;
  options.prefetch.window = 4;
  return options;
}

struct Stealing : testing::PooledObjects {
  using PooledObjects::PooledObjects;
  using PooledObjects::spawn;
  /// From the last worker.
  void spawn(std::size_t i) { spawn(i, machine[machine.runtime.worker_count() - 1]); }
  static std::uint64_t pools(const Worker& worker) { return worker.counters().pools_stolen.load(); }
  static std::uint64_t tasks(const Worker& worker) { return worker.counters().tasks_stolen.load(); }
};

TEST(StealingTest, AnIdleWorkerRunsWhatWaitsInAPoolOfAnother) {
  Stealing run{sharing(2)};
  run.spawn(0);
  run.spawn(0);
  EXPECT_TRUE(run.machine[1].step());
  EXPECT_EQ(run.ran_on, (std::vector{WorkerId{1}, WorkerId{1}}));
  EXPECT_EQ(run.pools(run.machine[1]), 1U);
  EXPECT_EQ(run.tasks(run.machine[1]), 2U);
  EXPECT_EQ(run.pool(0).state(), pool_state::empty) << "given back";
  EXPECT_FALSE(run.machine[1].leases(run.objects[0].pool()));
  EXPECT_EQ(run.pool(0).owner(), WorkerId{0}) << "stealing does not change whose it is";
}

TEST(StealingTest, NothingIsStolenWhereItIsOff) {
  Stealing run{sharing(2, stealing_scope::off)};
  run.spawn(0);
  EXPECT_FALSE(run.machine[1].step());
  EXPECT_TRUE(run.machine[0].step());
  EXPECT_EQ(run.ran_on, (std::vector{WorkerId{0}}));
  EXPECT_EQ(run.pools(run.machine[1]), 0U);
}

TEST(StealingTest, ThePinnedPoolIsNeverStolen) {
  Stealing run{sharing(2)};
  MxTask* pinned = lambda_task(run.machine[1], [&run](MxTask&, Worker& on) {
    run.ran_on.push_back(on.id());
    return step::done;
  });
  pinned->annotate(WorkerId{0});
  run.machine[1].spawn(pinned);
  EXPECT_FALSE(run.machine[1].step());
  EXPECT_TRUE(run.machine[0].step());
  EXPECT_EQ(run.ran_on, (std::vector{WorkerId{0}}));
}

TEST(StealingTest, AWorkerWithTasksOfItsOwnLeavesOthersAlone) {
  RuntimeOptions options = sharing(2);
  options.batch_tasks = 1;
  Stealing run{options};
  run.machine[1].spawn(lambda_task(run.machine[1], [](MxTask&, Worker&) { return step::done; }));
  run.spawn(0);
  run.machine[1].step();
  EXPECT_TRUE(run.ran_on.empty());
  EXPECT_EQ(run.pool(0).state(), pool_state::ready);
  run.machine.run_until_idle();
}

TEST(StealingTest, AThiefTakesItsWindowFullAndLeavesTheRestReady) {
  RuntimeOptions options = sharing(2);
  options.prefetch.window = 20;
  options.batch_tasks = 20;
  Stealing run{options};
  for (int i = 0; i < 50; ++i) {
    run.spawn(0);
  }
  run.machine[1].step();
  EXPECT_EQ(run.ran_on.size(), 20U);
  EXPECT_EQ(run.pool(0).state(), pool_state::ready) << "the rest is for whoever comes first";
  run.machine[0].step();
  EXPECT_EQ(run.ran_on.size(), 40U);
  EXPECT_EQ(run.ran_on.back(), WorkerId{0});
  run.machine.run_until_idle();
  EXPECT_EQ(run.ran_on.size(), 50U);
}

TEST(StealingTest, ABusyOwnerLeavesThePoolsForWhichItHasNoRoom) {
  RuntimeOptions options = sharing(2);
  options.prefetch.window = 16;
  options.batch_tasks = 1;
  Stealing run{options};
  for (std::size_t i = 0; i < 4; ++i) {
    for (int task = 0; task < 30; ++task) {
      run.spawn(i);
    }
  }
  run.machine[0].step();
  int ready = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    ready += run.pool(i).state() == pool_state::ready ? 1 : 0;
  }
  EXPECT_EQ(ready, 3) << "one fills its window";
  run.machine[1].step();
  EXPECT_EQ(run.pools(run.machine[1]), 1U);
  run.machine.run_until_idle();
  EXPECT_EQ(run.ran_on.size(), 120U);
}

TEST(StealingTest, NoTwoWorkersEverHoldTheSamePool) {
  RuntimeOptions options = sharing(3);
  options.batch_tasks = 3;
  Stealing run{options};
  for (int i = 0; i < 200; ++i) {
    run.spawn(static_cast<std::size_t>(i) % 4);
  }
  while (run.ran_on.size() < 200) {
    for (std::size_t worker = 0; worker < 3; ++worker) {
      run.machine[worker].step();
      for (const Words<>& object : run.objects) {
        int holders = 0;
        for (std::size_t other = 0; other < 3; ++other) {
          holders += run.machine[other].leases(object.pool()) ? 1 : 0;
        }
        ASSERT_LE(holders, 1);
      }
    }
  }
  EXPECT_GT(run.pools(run.machine[1]) + run.pools(run.machine[2]), 0U);
}

TEST(StealingTest, TasksThatAStolenTaskSpawnsIntoItsPoolAreNotLost) {
  Stealing run{sharing(2)};
  int left = 40;
  MxTask* task = lambda_task(run.machine[1], [&](MxTask&, Worker& on) {
    run.ran_on.push_back(on.id());
    return --left > 0 ? step::again : step::done;
  });
  task->annotate(run.objects[2].tagged(), 64);
  run.machine[1].spawn(task);
  run.machine[1].step();
  run.machine.run_until_idle();
  EXPECT_EQ(run.ran_on.size(), 40U);
  EXPECT_EQ(run.pool(2).state(), pool_state::empty);
}

TEST(StealingTest, StealingOnANodeDoesNotReachAnotherNode) {
  RuntimeOptions options = sharing(3, stealing_scope::node);
  options.workers[1].node = NumaNodeId{1};
  options.os_nodes = {0, 1};
  Stealing run{options};
  run.spawn(0);
  EXPECT_FALSE(run.machine[1].step()) << "of another node";
  EXPECT_TRUE(run.machine[2].step());
  EXPECT_EQ(run.ran_on, (std::vector{WorkerId{2}}));
}

TEST(StealingTest, AParkedThiefIsWokenForAPoolOfABusyOwner) {
  Stealing run{sharing(3)};
  ASSERT_TRUE(run.machine[1].prepare_to_park());
  EXPECT_EQ(run.machine.runtime.parked_workers(), 1U);
  run.spawn(0);
  EXPECT_EQ(run.bells[1].rung, 1);
  EXPECT_EQ(run.bells[0].rung, 0) << "not parked";
  EXPECT_EQ(run.machine.runtime.parked_workers(), 0U) << "its wake-up is on the way";
  run.spawn(1);
  EXPECT_EQ(run.bells[1].rung, 1) << "one wake-up is enough";
  run.machine[1].unpark();
  run.machine.run_until_idle();
}

TEST(StealingTest, AParkedOwnerIsWokenBeforeAThief) {
  Stealing run{sharing(3)};
  ASSERT_TRUE(run.machine[0].prepare_to_park());
  ASSERT_TRUE(run.machine[1].prepare_to_park());
  run.spawn(0);
  EXPECT_EQ(run.bells[0].rung, 1);
  EXPECT_EQ(run.bells[1].rung, 0);
  run.machine[0].unpark();
  run.machine[1].unpark();
  run.machine.run_until_idle();
}

TEST(StealingTest, AnOwnerThatLeavesAPoolWakesAThief) {
  RuntimeOptions options = sharing(2);
  options.batch_tasks = 1;
  Stealing run{options};
  ASSERT_TRUE(run.machine[1].prepare_to_park());
  for (int i = 0; i < 8; ++i) {
    for (const std::size_t object : {0U, 1U, 2U}) {
      MxTask* task = lambda_task(run.machine[0], [](MxTask&, Worker&) { return step::done; });
      task->annotate(run.objects[object].tagged(), 64);
      run.machine[0].spawn(task);
    }
  }
  EXPECT_EQ(run.bells[1].rung, 0) << "the owner looks itself before it executes";
  run.machine[0].step();
  EXPECT_EQ(run.bells[1].rung, 1);
  run.machine[1].unpark();
  run.machine.run_until_idle();
}

TEST(StealingTest, AThiefDoesNotParkOverAReadyPool) {
  Stealing run{sharing(2)};
  run.spawn(0);
  EXPECT_FALSE(run.machine[1].prepare_to_park());
  run.machine.run_until_idle();
  EXPECT_TRUE(run.machine[1].prepare_to_park());
  run.machine[1].unpark();
}

TEST(StealingTest, TasksInTheMiddleOfAStolenBatchAreDroppedOnce) {
  RuntimeOptions options = sharing(2);
  options.batch_tasks = 1;
  Stealing run{options};
  for (int i = 0; i < 10; ++i) {
    run.spawn(0);
  }
  run.machine[1].step();
  EXPECT_EQ(run.ran_on.size(), 1U);
  EXPECT_TRUE(run.machine[1].leases(run.objects[0].pool()));
  EXPECT_FALSE(run.machine[1].prepare_to_park()) << "it holds a lease";
  EXPECT_EQ(run.machine[0].discard_tasks() + run.machine[1].discard_tasks(), 9U);
}

}  // namespace
}  // namespace mxkv::runtime

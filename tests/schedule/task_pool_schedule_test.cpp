// The pool word in every order of its atomic steps: no task is lost, and never are there two holders.
//
// A pool with tasks that is neither ready nor leased is a lost task: no worker will ever look again.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "runtime/pool/task_pool.hpp"
#include "tests/schedule/interleaving.hpp"

namespace mxkv::testing {
namespace {

using runtime::MxTask;
using runtime::pool_state;

struct PoolRun {
  explicit PoolRun(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      tasks.emplace_back(nullptr);
    }
  }
  /// Spawns tasks [first, last).
  void add_spawner(std::size_t first, std::size_t last) {
    bodies.emplace_back([this, first, last] {
      for (std::size_t i = first; i < last; ++i) {
        told += pool.spawn(&tasks[i]) ? 1U : 0U;
        Interleaving::point();
      }
    });
  }
  /// A worker, or a thief: tries to take, executes at most `quantum` tasks, gives back.
  void add_holder(int tries, int quantum) {
    bodies.emplace_back([this, tries, quantum] {
      for (int i = 0; i < tries; ++i) {
        hold_once(quantum);
        Interleaving::point();
      }
    });
  }
  void hold_once(int quantum) {
    const bool taken = pool.take();
    Interleaving::point();
    if (!taken) {
      return;
    }
    EXPECT_EQ(holders++, 0) << "two workers execute from one pool";
    for (int i = 0; i < quantum; ++i) {
      if (MxTask* task = pool.next_task()) {
        pool.entered_buffer();
        Interleaving::point();  // the task runs
        executed.push_back(task);
        pool.left_buffer();
      }
    }
    --holders;
    const pool_state before = pool.state();
    EXPECT_TRUE(before == pool_state::leased || before == pool_state::leased_dirty);
    pool.give();
  }
  void run(Interleaving& interleaving) {
    interleaving.run(bodies);
    // From here on only the owner looks, and only because the word tells it to.
    for (int looks = 0; pool.state() != pool_state::empty; ++looks) {
      ASSERT_LT(looks, 100) << "the word never settles";
      ASSERT_EQ(pool.state(), pool_state::ready) << "a lease that nobody holds";
      hold_once(2);
    }
    EXPECT_EQ(executed.size(), tasks.size()) << "a task waits in a pool that says it is empty";
    std::sort(executed.begin(), executed.end());
    EXPECT_EQ(std::adjacent_find(executed.begin(), executed.end()), executed.end()) << "executed twice";
    EXPECT_GE(told, 1U) << "somebody told the owner";
  }

  runtime::BasicTaskPool<Interleaved> pool;
  std::deque<MxTask> tasks;
  std::vector<std::function<void()>> bodies;
  std::vector<MxTask*> executed;
  int holders = 0;
  std::size_t told = 0;
};

TEST(TaskPoolSchedule, ASpawnerAndAHolderInEveryOrder) {
  const std::size_t runs = in_all_orders(100, [](Interleaving& interleaving) {
    PoolRun run{1};
    run.add_spawner(0, 1);
    run.add_holder(1, 1);
    run.run(interleaving);
  });
  EXPECT_GT(runs, 20U);
}

TEST(TaskPoolSchedule, ASpawnerOfTwoTasksAndItsWorkerWithFourPreemptions) {
  const std::size_t runs = in_all_orders(4, [](Interleaving& interleaving) {
    PoolRun run{2};
    run.add_spawner(0, 2);
    run.add_holder(2, 2);
    run.run(interleaving);
  });
  EXPECT_GT(runs, 100U);
}

TEST(TaskPoolSchedule, TwoSpawnersAndAWorkerWithThreePreemptions) {
  const std::size_t runs = in_all_orders(3, [](Interleaving& interleaving) {
    PoolRun run{2};
    run.add_spawner(0, 1);
    run.add_spawner(1, 2);
    run.add_holder(2, 2);
    run.run(interleaving);
  });
  EXPECT_GT(runs, 100U);
}

TEST(TaskPoolSchedule, AnOwnerAndAThiefAreNeverBothHolders) {
  const std::size_t runs = in_all_orders(3, [](Interleaving& interleaving) {
    PoolRun run{2};
    run.add_spawner(0, 2);
    run.add_holder(2, 1);
    run.add_holder(1, 1);
    run.run(interleaving);
  });
  EXPECT_GT(runs, 100U);
}

TEST(TaskPoolSchedule, ManySpawnersAWorkerAndAThiefInRandomOrders) {
  in_random_orders(200, [](Interleaving& interleaving) {
    PoolRun run{18};
    run.add_spawner(0, 6);
    run.add_spawner(6, 12);
    run.add_spawner(12, 18);
    run.add_holder(20, 3);
    run.add_holder(10, 1);
    run.run(interleaving);
  });
}

}  // namespace
}  // namespace mxkv::testing

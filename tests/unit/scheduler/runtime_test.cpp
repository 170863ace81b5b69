// The life of a runtime: start, work on real threads, stop, and the end of all that was left.
#include "runtime/scheduler/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::unpinned;

/// Counts down when it runs; counts being dropped.
class CountedTask final : public MxTask {
 public:
  CountedTask(const TaskClass* task_class, std::latch& ran, std::atomic<int>& discarded)
      : MxTask(task_class), ran_(&ran), discarded_(&discarded) {}
  step execute(Worker&) {
    ran_->count_down();
    return step::done;
  }
  void discard(Worker&) { discarded_->fetch_add(1); }

 private:
  std::latch* ran_;
  std::atomic<int>* discarded_;
};

struct RuntimeTest : ::testing::Test {
  MxTask* counted(Runtime& runtime, std::latch& ran) {
    return runtime.create_outside<CountedTask>(ran, discarded);
  }
  SystemClock clock;
  std::atomic<int> discarded{0};
};

TEST_F(RuntimeTest, RunsWhatIsSubmittedFromOutsideOnEveryWorker) {
  Runtime runtime{unpinned(3), clock};
  ASSERT_TRUE(runtime.start().ok());
  std::latch ran{300};
  for (std::uint16_t i = 0; i < 300; ++i) {
    runtime.submit(counted(runtime, ran), WorkerId{static_cast<std::uint16_t>(i % 3)});
  }
  ran.wait();
  runtime.stop();
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(runtime.worker(WorkerId{i}).counters().tasks.load(), 100U);
  }
  EXPECT_EQ(discarded.load(), 0);
}

TEST_F(RuntimeTest, AWorkerOnANodeThatIsNotListedIsAClearError) {
  RuntimeOptions options = unpinned(2);
  options.workers[1].node = NumaNodeId{1};
  EXPECT_DEATH(Runtime(options, clock), "a worker's node is one of os_nodes");
  options.os_nodes = {0, 0};
  EXPECT_EQ(Runtime(options, clock).worker_count(), 2U);
}

TEST_F(RuntimeTest, TellsHowManyWorkersItStarted) {
  Runtime runtime{unpinned(2), clock};
  const Result<std::size_t> started = runtime.start();
  ASSERT_TRUE(started.ok());
  EXPECT_EQ(started.value(), 2U);
}

TEST_F(RuntimeTest, RefusesToStartOnAProcessingUnitThatIsNotThere) {
  RuntimeOptions options = unpinned(2);
  options.workers[1] = WorkerPlacement{.pu = PuId{1023}, .pinned = true};
  Runtime runtime{options, clock};
  std::latch ran{1};
  runtime.submit(counted(runtime, ran), WorkerId{0});
  const Result<std::size_t> started = runtime.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("1023"), std::string::npos) << started.error().message;
  EXPECT_FALSE(ran.try_wait()) << "on an error nothing runs";
}

TEST_F(RuntimeTest, AnIdleWorkerParksAndComesBackForEachTask) {
  RuntimeOptions options = unpinned(1);
  options.spin_rounds = 1;
  Runtime runtime{options, clock};
  ASSERT_TRUE(runtime.start().ok());
  for (int i = 0; i < 500; ++i) {
    std::latch ran{1};
    runtime.submit(counted(runtime, ran), WorkerId{0});
    ran.wait();  // a lost wake-up ends in the test's time-out
  }
  while (!runtime.worker(WorkerId{0}).parked()) {
    std::this_thread::yield();
  }
  EXPECT_GT(runtime.worker(WorkerId{0}).counters().parks.load(), 0U);
}

TEST_F(RuntimeTest, MayBeStoppedTwiceAndDestroyedWithoutHavingBeenStarted) {
  Runtime runtime{unpinned(2), clock};
  ASSERT_TRUE(runtime.start().ok());
  runtime.stop();
  runtime.stop();
  EXPECT_TRUE(runtime.stopping());
  const Runtime never_started{unpinned(2), clock};
}

TEST_F(RuntimeTest, NewObjectsGoToPoolsByHowOftenTheyAreAskedFor) {
  RuntimeOptions options = unpinned(3);
  options.pools_per_worker = 2;
  options.workers[2].node = NumaNodeId{1};
  options.os_nodes = {0, 0};
  Machine machine{options};
  Runtime& runtime = machine.runtime;
  for (std::uint64_t i = 0; i < 2; ++i) {
    runtime.pool(runtime.pool_for_object(WorkerId{0}, i)).count_taken(100);
  }
  runtime.pool(runtime.pool_for_object(WorkerId{1}, 0)).count_taken(50);
  const PoolId idle = runtime.pool_for_object(WorkerId{1}, 1);
  const auto chosen = [&](access_frequency how) {
    std::vector<int> of(3);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const PoolId pool = runtime.pool_for_object(WorkerId{0}, machine[0].random()(), how);
      EXPECT_NE(pool, runtime.worker(runtime.pool(pool).owner()).pinned_pool());
      ++of[runtime.pool(pool).owner().index()];
      EXPECT_TRUE(how != access_frequency::high || pool == idle);
    }
    return of;
  };
  EXPECT_EQ(chosen(access_frequency::low), (std::vector{200, 0, 0}));
  EXPECT_EQ(chosen(access_frequency::high), (std::vector{0, 200, 0}));
  const std::vector<int> moderate = chosen(access_frequency::moderate);
  EXPECT_GT(moderate[1], moderate[0]) << "rather those with less to do";
  EXPECT_GT(moderate[0], 0) << "though not always the same one";
  EXPECT_EQ(moderate[2], 0) << "on the node where the object's memory is";
}

TEST_F(RuntimeTest, DropsEachTaskThatNeverRanOnce) {
  std::latch ran{1};
  {
    Machine machine{2};
    auto& runtime = machine.runtime;
    testing::Words<> words{runtime.pool_for_object(WorkerId{1}, 0), primitive::serialized_by_scheduling};
    for (std::uint16_t i = 0; i < 20; ++i) {
      runtime.submit(counted(runtime, ran), WorkerId{static_cast<std::uint16_t>(i % 2)});
      MxTask* local = counted(runtime, ran);
      local->annotate(i % 2 == 0 ? priority::low : priority::normal);
      machine[0].spawn(local);
      MxTask* bound = counted(runtime, ran);
      bound->annotate(words.tagged(), 64);
      machine[0].spawn(bound);
    }
  }
  EXPECT_EQ(discarded.load(), 60);
  EXPECT_FALSE(ran.try_wait());
}

TEST_F(RuntimeTest, DropsTasksThatWereInTheMiddleOfABatch) {
  std::latch ran{1};
  {
    RuntimeOptions options = unpinned(1);
    options.batch_tasks = 1;
    Machine machine{options};
    testing::Words<> words{machine.runtime.pool_for_object(WorkerId{0}, 0),
                           primitive::serialized_by_scheduling};
    MxTask* last = nullptr;
    for (int i = 0; i < 10; ++i) {
      last = machine[0].create<CountedTask>(ran, discarded);
      last->annotate(words.tagged(), 64);
      machine[0].spawn(last);
    }
    machine[0].step();
    EXPECT_TRUE(ran.try_wait()) << "the first ran, the others sit in the prefetch buffer";
  }
  EXPECT_EQ(discarded.load(), 9);
}

TEST_F(RuntimeTest, ADroppedTaskLeavesItsPin) {
  Machine machine{1};
  std::latch ran{1};
  machine[0].step();
  MxTask* pinned = machine[0].create<CountedTask>(ran, discarded);
  machine[0].pin(*pinned);
  machine[0].spawn(pinned);
  EpochManager& epochs = machine.runtime.epochs();
  const std::uint64_t pinned_at = epochs.current();
  epochs.leave(WorkerId{0});
  ASSERT_TRUE(epochs.try_advance());
  EXPECT_EQ(epochs.horizon(), pinned_at);
  machine.runtime.drain_stopped();
  EXPECT_EQ(epochs.horizon(), epochs.current());
  EXPECT_EQ(discarded.load(), 1);
}

TEST_F(RuntimeTest, TasksSpawnAcrossWorkersUntilAllOfATreeRan) {
  RuntimeOptions options = unpinned(3);
  options.spin_rounds = 2;
  Runtime runtime{options, clock};
  struct Tree {
    std::latch ran{1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512};
    static void grow(Tree& tree, Worker& worker, int depth) {
      for (int child = 0; child < 2; ++child) {
        auto* task = lambda_task(worker, [&tree, depth](MxTask&, Worker& on) {
          if (depth > 1) {
            grow(tree, on, depth - 1);
          }
          tree.ran.count_down();
          return step::done;
        });
        task->annotate(WorkerId{static_cast<std::uint16_t>((worker.id().value() + 1 + child) % 3)});
        worker.spawn(task);
      }
    }
  } tree;
  ASSERT_TRUE(runtime.start().ok());
  const auto root = [&tree](MxTask&, Worker& on) {
    Tree::grow(tree, on, 9);
    tree.ran.count_down();
    return step::done;
  };
  runtime.submit(runtime.create_outside<testing::LambdaTask<decltype(root)>>(root), WorkerId{0});
  tree.ran.wait();
  EXPECT_TRUE(tree.ran.try_wait());
}

TEST(RuntimeOptionsDeathTest, TheTableOfReclaimFunctionsIsBounded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Machine machine{1};
  for (std::size_t i = 0; i < Runtime::kMaxReclaimKinds; ++i) {
    EXPECT_EQ(machine.runtime.add_reclaim_kind([](Worker&, void*) {}).value(), i);
  }
  EXPECT_DEATH(static_cast<void>(machine.runtime.add_reclaim_kind([](Worker&, void*) {})), "is full");
}

}  // namespace
}  // namespace mxkv::runtime

// One worker, stepped by hand: order, window, and the steps that a task may return.
#include "runtime/scheduler/worker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::unpinned;

/// The names of the tasks that ran, in order.
using Log = std::vector<std::string>;

MxTask* noting(Worker& worker, Log& log, const char* what) {
  return lambda_task(worker, [&log, what](MxTask&, Worker&) {
    log.emplace_back(what);
    return step::done;
  });
}

TEST(Worker, ExecutesFreeTasksInTheOrderOfTheirSpawning) {
  Machine machine{1};
  Log log;
  for (const char* what : {"a", "b", "c"}) {
    machine[0].spawn(noting(machine[0], log, what));
  }
  EXPECT_TRUE(log.empty()) << "spawning is asynchronous";
  EXPECT_TRUE(machine[0].step());
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
  EXPECT_FALSE(machine[0].step()) << "nothing left to do";
  EXPECT_EQ(machine[0].counters().tasks.load(), 3U);
}

TEST(Worker, ATaskSpawnedByATaskRunsAfterThoseThatWait) {
  Machine machine{1};
  Log log;
  machine[0].spawn(lambda_task(machine[0], [&log](MxTask&, Worker& worker) {
    log.emplace_back("parent");
    worker.spawn(noting(worker, log, "child"));
    return step::done;
  }));
  machine[0].spawn(noting(machine[0], log, "sibling"));
  machine[0].step();
  EXPECT_EQ(log, (Log{"parent", "sibling", "child"}));
}

TEST(Worker, ARespawnedTaskKeepsItsPlaceInTheWindow) {
  RuntimeOptions options = unpinned(1);
  options.prefetch.window = 1;
  Machine machine{options};
  Log log;
  int hops = 0;
  machine[0].spawn(lambda_task(machine[0], [&log, &hops](MxTask&, Worker&) {
    log.emplace_back("hop");
    return ++hops < 3 ? step::again : step::done;
  }));
  machine[0].spawn(noting(machine[0], log, "next"));
  machine[0].step();
  EXPECT_EQ(log, (Log{"hop", "hop", "hop", "next"})) << "finish what was begun";
}

TEST(Worker, TasksInTheWindowTakeTurnsHopByHop) {
  Machine machine{1};
  Log log;
  std::vector<int> hops(2, 0);
  for (const std::size_t i : {0U, 1U}) {
    machine[0].spawn(lambda_task(machine[0], [&log, &hops, i](MxTask&, Worker&) {
      log.emplace_back(i == 0 ? "a" : "b");
      return ++hops[i] < 3 ? step::again : step::done;
    }));
  }
  machine[0].step();
  EXPECT_EQ(log, (Log{"a", "b", "a", "b", "a", "b"}));
}

TEST(Worker, RunsThroughAtOnceWhatATaskWantsNow) {
  Machine machine{1};
  Log log;
  int hops = 0;
  machine[0].spawn(lambda_task(machine[0], [&log, &hops](MxTask&, Worker&) {
    log.emplace_back("level");
    return ++hops < 3 ? step::now : step::done;
  }));
  machine[0].spawn(noting(machine[0], log, "other"));
  machine[0].step();
  EXPECT_EQ(log, (Log{"level", "level", "level", "other"}));
  EXPECT_EQ(machine[0].counters().tasks.load(), 2U) << "levels run through are one hop of their task";
}

TEST(Worker, PutsARetriedTaskBehindOtherWork) {
  Machine machine{1};
  Log log;
  int tries = 0;
  machine[0].spawn(lambda_task(machine[0], [&log, &tries](MxTask&, Worker&) {
    log.emplace_back("try");
    return ++tries < 2 ? step::retry : step::done;
  }));
  machine[0].spawn(noting(machine[0], log, "other"));
  machine[0].step();
  EXPECT_EQ(log, (Log{"try", "other", "try"}));
  EXPECT_EQ(machine[0].counters().retries.load(), 1U);
}

TEST(Worker, ForgetsAParkedTaskUntilSomebodySpawnsIt) {
  Machine machine{1};
  Log log;
  MxTask* parked = nullptr;
  machine[0].spawn(lambda_task(machine[0], [&log, &parked](MxTask& task, Worker&) {
    log.emplace_back("run");
    return std::exchange(parked, &task) == nullptr ? step::parked : step::done;
  }));
  machine.run_until_idle();
  EXPECT_EQ(log, (Log{"run"}));
  ASSERT_NE(parked, nullptr);
  machine[0].spawn(parked);
  machine.run_until_idle();
  EXPECT_EQ(log, (Log{"run", "run"}));
}

TEST(Worker, RunsLowPriorityOnlyWhenNothingElseFillsTheWindow) {
  RuntimeOptions options = unpinned(1);
  options.prefetch.window = 1;
  Machine machine{options};
  Log log;
  MxTask* low = noting(machine[0], log, "low");
  low->annotate(priority::low);
  machine[0].spawn(low);
  machine[0].spawn(lambda_task(machine[0], [&log](MxTask&, Worker& worker) {
    log.emplace_back("first");
    worker.spawn(noting(worker, log, "second"));
    return step::done;
  }));
  machine[0].step();
  EXPECT_EQ(log, (Log{"first", "second", "low"}));
}

TEST(Worker, HighPriorityDoesNotWaitForTheWindow) {
  RuntimeOptions options = unpinned(1);
  options.prefetch.window = 1;
  Machine machine{options};
  Log log;
  machine[0].spawn(lambda_task(machine[0], [&log](MxTask&, Worker& worker) {
    log.emplace_back("first");
    MxTask* high = noting(worker, log, "high");
    high->annotate(priority::high);
    worker.spawn(high);
    return step::done;
  }));
  for (const char* what : {"second", "third"}) {
    machine[0].spawn(noting(machine[0], log, what));
  }
  machine[0].step();
  EXPECT_EQ(log, (Log{"first", "high", "second", "third"}));
}

TEST(Worker, KeepsAllTasksOfHighPriorityThoughTheBufferIsFull) {
  Machine machine{1};
  std::uint32_t ran = 0;
  for (std::uint32_t i = 0; i < 2 * PrefetchBuffer::kCapacity; ++i) {
    MxTask* high = lambda_task(machine[0], [&ran](MxTask&, Worker&) {
      ++ran;
      return step::done;
    });
    high->annotate(priority::high);
    machine[0].spawn(high);
  }
  machine.run_until_idle();
  EXPECT_EQ(ran, 2 * PrefetchBuffer::kCapacity);
}

TEST(Worker, GoesOnWithItsTasksWhenItsPrefetchingIsChanged) {
  RuntimeOptions options = unpinned(1);
  options.batch_tasks = 1;
  Machine machine{options};
  Log log;
  for (const char* what : {"a", "b", "c", "d"}) {
    machine[0].spawn(noting(machine[0], log, what));
  }
  for (const prefetch_mode mode :
       {prefetch_mode::off, prefetch_mode::distance, prefetch_mode::tuned, prefetch_mode::at_spawn}) {
    machine[0].step();
    machine[0].set_prefetch(PrefetchOptions{.mode = mode, .distance = 4, .window = 2});
  }
  machine.run_until_idle();
  EXPECT_EQ(log, (Log{"a", "b", "c", "d"}));
}

TEST(Worker, HandsBackControlAfterItsBatchAndGoesOnInTheNextStep) {
  RuntimeOptions options = unpinned(1);
  options.batch_tasks = 10;
  options.prefetch.window = 4;
  Machine machine{options};
  int ran = 0;
  for (int i = 0; i < 25; ++i) {
    machine[0].spawn(lambda_task(machine[0], [&ran](MxTask&, Worker&) {
      ++ran;
      return step::done;
    }));
  }
  EXPECT_TRUE(machine[0].step());
  EXPECT_EQ(ran, 10);
  EXPECT_TRUE(machine[0].step());
  EXPECT_TRUE(machine[0].step());
  EXPECT_EQ(ran, 25);
  EXPECT_FALSE(machine[0].step());
}

TEST(Worker, AnEndlessTaskDoesNotKeepTheWorkerFromItsPoller) {
  Machine machine{1};
  bool stop = false;
  machine[0].spawn(
      lambda_task(machine[0], [&stop](MxTask&, Worker&) { return stop ? step::done : step::again; }));
  EXPECT_TRUE(machine[0].step()) << "returned from an endless task";
  stop = true;
  machine.run_until_idle();
}

TEST(Worker, ReadsTheClockOncePerRound) {
  Machine machine{1};
  machine[0].step();
  const std::uint64_t us = machine[0].now_us();
  const std::uint64_t ns = machine[0].now_ns();
  EXPECT_EQ(us, machine.clock.unix_us());
  machine.clock.advance_us(5);
  EXPECT_EQ(machine[0].now_us(), us);
  machine[0].step();
  EXPECT_EQ(machine[0].now_us(), us + 5);
  EXPECT_EQ(machine[0].now_ns(), ns + 5000);
}

TEST(Worker, IsTheCurrentWorkerOfItsTasksOnly) {
  Machine machine{2};
  Worker* seen[2]{};
  for (const std::size_t i : {0U, 1U}) {
    machine[i].spawn(lambda_task(machine[i], [&seen, i](MxTask&, Worker&) {
      seen[i] = Worker::current();
      return step::done;
    }));
  }
  machine.run_until_idle();
  EXPECT_EQ(seen[0], &machine[0]);
  EXPECT_EQ(seen[1], &machine[1]);
  EXPECT_EQ(Worker::current(), nullptr);
}

struct SizedTask final : MxTask {
  explicit SizedTask(const TaskClass* task_class) : MxTask(task_class) {}
  step execute(Worker&) { return step::done; }
};

TEST(Worker, CreatesATaskInTheSmallestBlockThatHoldsItsData) {
  Machine machine{1};
  const std::pair<std::size_t, task_block> cases[] = {{sizeof(SizedTask), task_block::bytes_64},
                                                      {64, task_block::bytes_64},
                                                      {65, task_block::bytes_128},
                                                      {192, task_block::bytes_192},
                                                      {256, task_block::bytes_256},
                                                      {384, task_block::bytes_384}};
  for (const auto& [bytes, block] : cases) {
    SizedTask* task = machine[0].create_sized<SizedTask>(bytes);
    EXPECT_EQ(static_cast<task_block>(task->annotations().block), block) << bytes << " bytes";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(task) % kCacheLineBytes, 0U);
    machine[0].spawn(task);
  }
  machine.run_until_idle();
  EXPECT_EQ(machine[0].counters().tasks.load(), std::size(cases));
}

TEST(Worker, ReusesTheBlocksOfFinishedTasks) {
  Machine machine{1};
  const auto round = [&machine] {
    for (int i = 0; i < 50; ++i) {
      machine[0].spawn(lambda_task(machine[0], [](MxTask&, Worker&) { return step::done; }));
    }
    machine.run_until_idle();
  };
  round();
  const std::size_t taken = machine.runtime.task_memory().taken_bytes();
  for (int i = 0; i < 2000; ++i) {
    round();
  }
  EXPECT_EQ(machine.runtime.task_memory().taken_bytes(), taken);
}

}  // namespace
}  // namespace mxkv::runtime

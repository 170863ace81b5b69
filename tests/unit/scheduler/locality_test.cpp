// Immediate and deferred tasks: the five rules of refilling, and which workers are woken. The machine has two
// nodes of two core groups with two cores each: workers 0 1 | 2 3 on node 0, 4 5 | 6 7 on node 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/topology/build.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Bell;
using ::testing::ElementsAre;
using testing::lambda_task;
using testing::Machine;

RuntimeOptions eight_workers(task_order order, stealing_scope scope) {
  RuntimeOptions options = testing::unpinned(0);
  options.topology = std::make_shared<const Topology>(
      topology_from_synthetic("Package:2 [NUMANode] L3Cache:2 Core:2 PU:1").value());
  for (const ProcessingUnit& unit : options.topology->pus) {
    options.workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = false});
  }
  options.os_nodes = {0, 1};
  options.order = order;
  options.order_reach = scope;
  options.batch_tasks = 1;  // one step, one task
  options.prefetch.window = 1;
  return options;
}

struct Locality {
  explicit Locality(task_order order = task_order::las, stealing_scope scope = stealing_scope::machine)
      : machine(eight_workers(order, scope)) {
    for (std::size_t i = 0; i < machine.runtime.worker_count(); ++i) {
      machine[i].set_poller(bells.emplace_back());
    }
  }
  MxTask* named(std::size_t worker, char name) {
    return lambda_task(machine[worker], [this, name](MxTask& task, Worker&) {
      EXPECT_EQ(task.annotations().locality, locality::here) << "who takes it has it";
      ran += name;
      return step::done;
    });
  }
  void immediate(std::size_t worker, char name) {
    MxTask* task = named(worker, name);
    task->annotate(locality::immediate);
    machine[worker].spawn(task);
  }
  void deferred_of(std::size_t worker, std::uint64_t request, char name) {
    MxTask* task = named(worker, name);
    task->annotate(deferred{RequestId{request}});
    machine[worker].spawn(task);
  }
  /// The names of the tasks that one step of the worker ran.
  std::string step(std::size_t worker) {
    ran.clear();
    machine[worker].step();
    return ran;
  }
  std::string steps(const std::vector<std::size_t>& workers) {
    std::string all;
    for (const std::size_t worker : workers) {
      all += step(worker);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> refills(std::size_t worker) {
    std::vector<std::uint64_t> counts;
    for (const auto& count : machine[worker].counters().refills) {
      counts.push_back(count.load());
    }
    return counts;
  }
  /// The workers that were woken since the last call; they go on.
  std::vector<int> woken() {
    std::vector<int> who;
    for (std::size_t i = 0; i < bells.size(); ++i) {
      if (std::exchange(bells[i].rung, 0) > 0) {
        who.push_back(static_cast<int>(i));
      }
    }
    return who;
  }

  std::deque<Bell> bells;  // before the machine: its end wakes the workers
  Machine machine;
  std::string ran;
};

TEST(LocalityTest, AWorkerTakesItsYoungestImmediateTaskFirst) {
  Locality run;
  run.immediate(0, 'a');
  run.immediate(0, 'b');
  run.deferred_of(0, 1, 'd');
  run.immediate(0, 'c');
  EXPECT_EQ(run.steps({0, 0, 0, 0}), "cbad");
  EXPECT_THAT(run.refills(0), ElementsAre(3, 0, 1, 0, 0, 0));
}

TEST(LocalityTest, AWorkerTakesAFewAtATimeAndLeavesTheOthersToItsGroup) {
  constexpr std::uint64_t kTasks = 64;
  Locality run;
  run.machine[0].set_prefetch({.mode = prefetch_mode::at_spawn, .distance = 8, .window = kTasks});
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    run.immediate(0, 'a');
  }
  EXPECT_EQ(run.step(0), "a");
  EXPECT_LE(run.refills(0)[0], 4U);
  for (std::uint64_t i = 0; i < kTasks / 2; ++i) {
    EXPECT_EQ(run.step(1), "a");
  }
  EXPECT_EQ(run.refills(1)[1], kTasks / 2);
}

TEST(LocalityTest, ThenTheOldestOfItsGroup) {
  Locality run;
  run.immediate(0, 'a');
  run.immediate(0, 'b');
  run.deferred_of(1, 1, 'd');
  EXPECT_EQ(run.step(1), "a");
  EXPECT_EQ(run.step(1), "b");
  EXPECT_EQ(run.step(1), "d");
  EXPECT_THAT(run.refills(1), ElementsAre(0, 2, 1, 0, 0, 0));
}

TEST(LocalityTest, ThenTheYoungestDeferredTaskOfTheOldestRequestOfItsGroup) {
  Locality run;
  run.deferred_of(0, 8, 'x');
  run.deferred_of(1, 7, 'a');
  run.deferred_of(0, 7, 'b');
  run.deferred_of(2, 1, 'f');  // of the other group, older though it is
  EXPECT_EQ(run.steps({1, 0, 1}), "bax");
}

TEST(LocalityTest, TasksOfLowPriorityComeAfterThoseOfItsGroup) {
  Locality run;
  MxTask* low = run.named(0, 'l');
  low->annotate(priority::low);
  run.machine[0].spawn(low);
  run.deferred_of(1, 1, 'd');
  run.immediate(0, 'i');
  EXPECT_EQ(run.steps({0, 0, 0}), "idl");
}

TEST(LocalityTest, ThenOfOtherGroupsTheOldestOfTheSecondOldestRequestNearestFirst) {
  Locality run;
  run.deferred_of(4, 1, 'r');  // on the other node
  run.immediate(2, 'i');       // rule 5 comes after rule 4
  run.deferred_of(2, 5, 'a');
  run.deferred_of(2, 6, 'b');
  run.deferred_of(2, 6, 'c');
  EXPECT_EQ(run.steps({0, 0}), "bc");
  EXPECT_EQ(run.step(0), "a") << "the only request that is left there";
  EXPECT_EQ(run.step(0), "r");
  EXPECT_EQ(run.step(0), "i");
  EXPECT_THAT(run.refills(0), ElementsAre(0, 0, 0, 4, 1, 0));
}

TEST(LocalityTest, ImmediateTasksNeverLeaveTheirNode) {
  Locality run;
  run.immediate(4, 'a');
  for (std::size_t worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(run.step(worker), "");
  }
  EXPECT_EQ(run.step(6), "a");
}

TEST(LocalityTest, ImmediateTasksBeyondABacklogWakeAnotherNodesWorker) {
  Locality run;
  for (std::uint32_t i = 0; i < RuntimeOptions{}.spill_above; ++i) {
    run.immediate(4, 'a');
  }
  ASSERT_TRUE(run.machine[1].prepare_to_park());
  run.immediate(4, 'b');
  EXPECT_THAT(run.woken(), ElementsAre(1));
  EXPECT_EQ(run.step(1), "a");
  EXPECT_THAT(run.refills(1), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_EQ(run.step(0), "") << "what is left is their node's";
  run.machine.run_until_idle();
}

TEST(LocalityTest, TheOtherGroupsOfTheNodeAreScannedInTurn) {
  Locality run;
  for (const char name : {'a', 'b'}) {
    run.immediate(2, name);
  }
  for (const char name : {'x', 'y'}) {
    run.immediate(3, name);
  }
  EXPECT_EQ(run.steps({0, 0, 0, 0}), "abxy") << "where it found one it goes on";
}

TEST(LocalityTest, TheReachLimitsHowFarTasksGo) {
  Locality near{task_order::las, stealing_scope::node};
  near.deferred_of(0, 1, 'a');
  EXPECT_EQ(near.step(4), "");
  EXPECT_EQ(near.step(2), "a");
  Locality alone{task_order::las, stealing_scope::off};
  alone.deferred_of(0, 1, 'a');
  alone.immediate(0, 'b');
  EXPECT_EQ(alone.step(2), "");
  EXPECT_EQ(alone.step(1), "a") << "deferred tasks belong to the group";
  EXPECT_EQ(alone.step(0), "b");
}

TEST(LocalityTest, TheBaselineIgnoresGroupsNodesAndRequests) {
  Locality run{task_order::nls};
  run.deferred_of(0, 9, 'a');
  run.deferred_of(4, 1, 'b');
  run.immediate(0, 'i');
  run.immediate(0, 'j');
  EXPECT_EQ(run.steps({6, 6}), "ab");
  EXPECT_EQ(run.step(6), "i");
  EXPECT_EQ(run.step(0), "j");
}

TEST(LocalityTest, AnImmediateTaskWakesNobodyBeyondItsNode) {
  Locality run;
  for (const std::size_t parked : {4U, 5U, 6U, 7U}) {
    ASSERT_TRUE(run.machine[parked].prepare_to_park());
  }
  run.immediate(0, 'a');
  EXPECT_THAT(run.woken(), ElementsAre());
  ASSERT_TRUE(run.machine[7].parked());
  run.step(0);
  ASSERT_TRUE(run.machine[3].prepare_to_park());
  run.immediate(0, 'b');
  EXPECT_THAT(run.woken(), ElementsAre(3));
  run.step(0);
}

TEST(LocalityTest, ADeferredTaskWakesTheNearestOfAll) {
  Locality run;
  for (const std::size_t parked : {1U, 3U, 6U}) {
    ASSERT_TRUE(run.machine[parked].prepare_to_park());
  }
  for (const int woken : {1, 3, 6}) {
    run.deferred_of(0, 1, 'a');
    EXPECT_THAT(run.woken(), ElementsAre(woken));
  }
  run.deferred_of(0, 1, 'a');
  EXPECT_THAT(run.woken(), ElementsAre());
  EXPECT_EQ(run.machine[0].counters().wakes.load(), 3U);
  run.machine.run_until_idle();
}

TEST(LocalityTest, AWorkerDoesNotParkWhileSomethingWaitsThatItMayTake) {
  Locality run;
  run.deferred_of(4, 1, 'a');
  EXPECT_FALSE(run.machine[0].prepare_to_park());
  EXPECT_EQ(run.step(0), "a");
  EXPECT_TRUE(run.machine[0].prepare_to_park());
  run.machine[0].unpark();
  run.immediate(4, 'b');
  EXPECT_TRUE(run.machine[0].prepare_to_park()) << "not for it";
  run.machine[0].unpark();
  EXPECT_FALSE(run.machine[6].prepare_to_park());
  run.machine.run_until_idle();
}

TEST(LocalityTest, TasksThatRespawnWithoutEndDoNotKeepThemOut) {
  Locality run;
  bool stop = false;
  run.machine[0].spawn(
      lambda_task(run.machine[0], [&stop](MxTask&, Worker&) { return stop ? step::done : step::again; }));
  run.step(0);
  run.immediate(0, 'i');
  run.deferred_of(0, 1, 'd');
  std::string seen;
  for (int i = 0; i < 200; ++i) {
    seen += run.step(0);
  }
  EXPECT_EQ(seen, "id");
  stop = true;
  run.machine.run_until_idle();
}

TEST(LocalityTest, TheOldestImmediateTaskComesThoughYoungerOnesKeepComing) {
  Locality run;
  run.immediate(0, 'o');
  std::string seen;
  for (int i = 0; i < 40 && seen.find('o') == std::string::npos; ++i) {
    run.immediate(0, 'y');
    seen += run.step(0);
  }
  EXPECT_NE(seen.find('o'), std::string::npos);
  run.machine.run_until_idle();
}

TEST(LocalityTest, ADeferredTaskFromOutsideGoesToTheGroupAndWakesItsWorker) {
  Locality run;
  ASSERT_TRUE(run.machine[2].prepare_to_park());
  auto* task = run.machine.runtime.create_outside<testing::LambdaTask<step (*)(MxTask&, Worker&)>>(
      [](MxTask&, Worker&) { return step::done; });
  task->annotate(deferred{run.machine.runtime.new_request()});
  EXPECT_FALSE(run.machine.runtime.submit(task, WorkerId{2}).has_value());
  EXPECT_THAT(run.woken(), ElementsAre(2));
  run.machine[3].step();
  EXPECT_THAT(run.refills(3), ElementsAre(0, 0, 1, 0, 0, 0));
}

TEST(LocalityTest, RequestsAreNumberedInTheOrderThatTheyBeginIn) {
  Locality run;
  const RequestId first = run.machine.runtime.new_request();
  EXPECT_LT(first, run.machine.runtime.new_request());
}

TEST(LocalityTest, AtTheEndWaitingTasksAreDropped) {
  Locality run;
  run.immediate(0, 'a');
  run.deferred_of(0, 1, 'b');
  EXPECT_EQ(run.machine[0].discard_tasks(), 2U);
  EXPECT_EQ(run.machine[1].discard_tasks(), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

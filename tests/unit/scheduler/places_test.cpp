// Tasks annotated with a core group, a node or a pool, on invented machines: which workers run them, and the
// error where no worker can.
#include "runtime/scheduler/places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "runtime/scheduler/tasking.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/topology/invented_machine.hpp"

namespace mxkv::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::invented;
using testing::lambda_task;
using testing::Machine;
using testing::one_on_each;
using testing::Words;

std::vector<int> ids(std::span<const WorkerId> workers) {
  std::vector<int> values;
  for (const WorkerId worker : workers) {
    values.push_back(worker.value());
  }
  return values;
}

Target node(std::uint16_t id) {
  return Target{NumaNodeId{id}};
}
Target group(std::uint16_t id) {
  return Target{CoreGroupId{id}};
}

TEST(PlacesTest, EveryWorkerIsInItsNodeAndItsGroupOnMachinesOfOneToEightNodes) {
  for (const std::vector<std::size_t>& machine : std::vector<std::vector<std::size_t>>{
           {4}, {2, 6}, {4, 1, 3, 8}, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 0, 5, 0, 2, 2, 1, 7}}) {
    const Topology topology = invented(machine);
    const std::vector<WorkerPlacement> workers = one_on_each(topology);
    const Places places{topology, workers, 10};
    std::size_t in_nodes = 0;
    for (std::uint16_t n = 0; n < machine.size(); ++n) {
      EXPECT_EQ(places.workers(node(n)).size(), machine[n]);
      EXPECT_EQ(places.exists(node(n)), machine[n] != 0) << "a node of memory alone runs nothing";
      for (const WorkerId worker : places.workers(node(n))) {
        EXPECT_EQ(workers[worker.index()].node, NumaNodeId{n});
      }
      in_nodes += places.workers(node(n)).size();
    }
    EXPECT_EQ(in_nodes, workers.size());
    std::size_t in_groups = 0;
    for (std::uint16_t g = 0; g < topology.core_groups.size(); ++g) {
      EXPECT_TRUE(places.exists(group(g)));
      for (const WorkerId worker : places.workers(group(g))) {
        EXPECT_EQ(topology.find(workers[worker.index()].pu)->group, CoreGroupId{g});
      }
      in_groups += places.workers(group(g)).size();
    }
    EXPECT_EQ(in_groups, workers.size());
    EXPECT_FALSE(places.exists(node(static_cast<std::uint16_t>(machine.size()))));
  }
}

TEST(PlacesTest, OfflineCpusAndOnesWithoutAWorkerRunNothing) {
  const Topology topology = invented({4, 4}, {1, 4, 5, 6, 7});
  const Places places{topology, one_on_each(topology), 10};
  EXPECT_THAT(ids(places.workers(node(0))), ElementsAre(0, 1, 2));
  EXPECT_THAT(ids(places.workers(group(0))), ElementsAre(0)) << "its other CPU is offline";
  EXPECT_FALSE(places.exists(node(1)));
  EXPECT_EQ(places.complaint(node(1)).message, "NUMA node 1 has no worker (with workers: 0)");
  const Topology two = invented({2, 2});
  const Places half{two, std::vector{WorkerPlacement{.pu = PuId{2}, .node = NumaNodeId{1}}}, 10};
  EXPECT_FALSE(half.exists(group(0))) << "CPUs that no worker was given";
  EXPECT_TRUE(half.exists(group(1)));
}

TEST(PlacesTest, SaysWhatIsWrongWithEveryKindOfPlace) {
  const Topology topology = invented({2, 2});
  const Places places{topology, one_on_each(topology), 20};
  EXPECT_EQ(places.complaint(Target{WorkerId{4}}).message, "worker 4 does not exist (there are 4)");
  EXPECT_EQ(places.complaint(Target{PoolId{20}}).message, "pool 20 does not exist (there are 20)");
  EXPECT_EQ(places.complaint(group(2)).message, "core group 2 does not exist (with workers: 0, 1)");
  EXPECT_EQ(places.complaint(node(9)).message, "NUMA node 9 does not exist (with workers: 0, 1)");
  EXPECT_FALSE(places.exists(Target{PoolId{0xFFFF}}));
  EXPECT_FALSE(places.exists(Target{WorkerId{0xFFFE}}));
  EXPECT_TRUE(places.exists(Target{Target::kAnywhere}));
}

TEST(LessLoadedOfTwo, TakesTheBetterOfTwoDifferentOnesAndReachesAll) {
  const std::vector<WorkerId> candidates{WorkerId{3}, WorkerId{5}, WorkerId{8}};
  std::set<WorkerId> chosen;
  Random random{7};
  for (int i = 0; i < 200; ++i) {
    chosen.insert(less_loaded_of_two(candidates, random(), [](WorkerId) { return 1; }));
    EXPECT_NE(less_loaded_of_two(candidates, random(), [](WorkerId id) { return id.value(); }), WorkerId{8})
        << "the worst of three is never the better of two";
  }
  EXPECT_EQ(chosen.size(), 3U);
  EXPECT_EQ(less_loaded_of_two(std::span{candidates}.first(1), 12345, [](WorkerId) { return 1; }),
            WorkerId{3});
}

/// Two nodes with two core groups of two workers each, and a node of memory alone.
struct PlacedSpawn : ::testing::Test {
  static RuntimeOptions options() {
    RuntimeOptions options = testing::unpinned(8);
    options.topology = std::make_shared<const Topology>(invented({4, 4, 0}));
    options.workers = one_on_each(*options.topology);
    options.os_nodes = {0, 1, 2};
    return options;
  }
  template <class Place>
  MxTask* task(std::size_t spawner, Place place) {
    MxTask* located = lambda_task(machine[spawner], [this](MxTask&, Worker& on) {
      ran_on.push_back(on.id().value());
      return step::done;
    });
    located->annotate(place);
    return located;
  }
  Machine machine{options()};
  std::vector<int> ran_on;
};

TEST_F(PlacedSpawn, ATaskForANodeRunsOnOneOfItsWorkersAndAllGetSome) {
  std::set<int> all;
  for (int i = 0; i < 100; ++i) {
    machine[0].spawn(task(0, NumaNodeId{1}));
  }
  machine.run_until_idle();
  all.insert(ran_on.begin(), ran_on.end());
  EXPECT_EQ(ran_on.size(), 100U);
  EXPECT_THAT(all, ElementsAre(4, 5, 6, 7));
}

TEST_F(PlacedSpawn, ATaskForACoreGroupRunsInIt) {
  for (int i = 0; i < 100; ++i) {
    machine[7].spawn(task(7, CoreGroupId{1}));
  }
  machine.run_until_idle();
  EXPECT_THAT(std::set<int>(ran_on.begin(), ran_on.end()), ElementsAre(2, 3));
}

TEST_F(PlacedSpawn, WhoIsThereAlreadyKeepsTheTask) {
  for (int i = 0; i < 20; ++i) {
    machine[6].spawn(task(6, NumaNodeId{1}));
  }
  machine[6].step();
  EXPECT_EQ(ran_on, std::vector<int>(20, 6));
}

TEST_F(PlacedSpawn, ATaskForAPoolRunsUnderItsLease) {
  const PoolId pool = machine.runtime.pool_for_object(WorkerId{5}, 1);
  MxTask* placed = lambda_task(machine[0], [this, pool](MxTask&, Worker& on) {
    EXPECT_TRUE(on.leases(pool));
    ran_on.push_back(on.id().value());
    return ran_on.size() < 3 ? step::again : step::done;
  });
  placed->annotate(pool);
  machine[0].spawn(placed);
  machine.run_until_idle();
  EXPECT_THAT(ran_on, ElementsAre(5, 5, 5));
}

TEST_F(PlacedSpawn, ABoundTaskRunsInThePoolOfItsObjectWhateverItsPlace) {
  Words<> words{machine.runtime.pool_for_object(WorkerId{2}, 1), primitive::serialized_by_scheduling};
  const auto spawn = [&](auto place) {
    MxTask* bound = task(0, place);
    bound->annotate(words.tagged(), 64);
    machine[0].spawn(bound);
    machine.run_until_idle();
  };
  spawn(NumaNodeId{1});
  spawn(CoreGroupId{0});
  spawn(machine.runtime.pool_for_object(WorkerId{7}, 0));
  EXPECT_THAT(ran_on, ElementsAre(2, 2, 2));
}

TEST_F(PlacedSpawn, ATaskForAPlaceThatIsNotThereIsReportedAndRunsWhereItWasSpawned) {
  std::vector<std::string> errors;
  MxTask* spawner = lambda_task(machine[3], [&](MxTask&, Worker& on) {
    for (const Target target : {node(2), node(3), group(4), Target{WorkerId{8}}, Target{PoolId{9999}}}) {
      MxTask* misplaced = task(3, WorkerId{0});
      misplaced->annotations().target = target.encoded();
      const std::optional<Error> error = tasking::spawn(misplaced);
      errors.push_back(error ? error->message : "");
    }
    EXPECT_FALSE(tasking::spawn(task(3, NumaNodeId{0})));
    EXPECT_EQ(&on, &machine[3]);
    return step::done;
  });
  machine[3].spawn(spawner);
  machine.run_until_idle();
  EXPECT_THAT(errors, ElementsAre("task task: NUMA node 2 has no worker (with workers: 0, 1)",
                                  "task task: NUMA node 3 does not exist (with workers: 0, 1)",
                                  "task task: core group 4 does not exist (with workers: 0, 1, 2, 3)",
                                  "task task: worker 8 does not exist (there are 8)",
                                  HasSubstr("pool 9999 does not exist (there are ")));
  EXPECT_EQ(ran_on, std::vector<int>(6, 3));
  EXPECT_EQ(machine[3].counters().misplaced.load(), 5U);
}

TEST_F(PlacedSpawn, ASubmittedTaskGoesToItsPlaceOrIsReported) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(machine.runtime.submit(task(0, NumaNodeId{1}), WorkerId{0}));
  }
  machine.run_until_idle();
  EXPECT_THAT(std::set<int>(ran_on.begin(), ran_on.end()), ElementsAre(4, 5, 6, 7));
  ran_on.clear();
  EXPECT_FALSE(machine.runtime.submit(task(0, machine.runtime.pool_for_object(WorkerId{6}, 2)), WorkerId{0}));
  const std::optional<Error> error = machine.runtime.submit(task(0, CoreGroupId{77}), WorkerId{1});
  machine.run_until_idle();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "task task: core group 77 does not exist (with workers: 0, 1, 2, 3)");
  EXPECT_THAT(ran_on, ElementsAre(1, 6));
  EXPECT_EQ(machine.runtime.misplaced(), 1U);
}

}  // namespace
}  // namespace mxkv::runtime

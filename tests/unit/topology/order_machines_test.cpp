// Orders of stealing, waking and locality on all invented machines: to which workers a worker turns, and how
// far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/topology/order.hpp"
#include "tests/unit/topology/invented_machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::all_machines;
using testing::one_on_each;

struct Machines : ::testing::Test {
  /// Calls `check(topology, workers, self)` for every worker of every machine; one worker on each CPU, and
  /// one on every other CPU.
  template <class Check>
  static void for_each_worker(const Check& check) {
    for (const auto& [name, machine] : all_machines()) {
      const std::vector<WorkerPlacement> all = one_on_each(machine);
      std::vector<WorkerPlacement> half;
      for (std::size_t i = 0; i < all.size(); i += 2) {
        half.push_back(all[i]);
      }
      for (const std::vector<WorkerPlacement>& workers : {all, half}) {
        for (std::uint16_t self = 0; self < workers.size(); ++self) {
          SCOPED_TRACE(name + ", worker " + std::to_string(self) + " of " + std::to_string(workers.size()));
          check(machine, workers, WorkerId{self});
        }
      }
    }
  }
  static std::uint32_t distance(const Topology& machine, const std::vector<WorkerPlacement>& workers,
                                WorkerId a, WorkerId b) {
    return machine.distance(workers[a.index()].node, workers[b.index()].node);
  }
  static CoreGroupId group(const Topology& machine, const std::vector<WorkerPlacement>& workers,
                           WorkerId id) {
    return machine.find(workers[id.index()].pu)->group;
  }
};

TEST_F(Machines, EveryOtherWorkerIsNamedOnceNearestNodeFirstAndItsGroupBeforeAll) {
  for_each_worker([](const Topology& machine, const std::vector<WorkerPlacement>& workers, WorkerId self) {
    for (const std::vector<WorkerId>& order :
         {steal_order(machine, workers, self), wake_order(machine, workers, self)}) {
      std::vector<WorkerId> sorted = order;
      sorted.push_back(self);
      std::ranges::sort(sorted);
      ASSERT_EQ(sorted.size(), workers.size());
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        ASSERT_EQ(sorted[i].index(), i);
      }
      for (std::size_t i = 1; i < order.size(); ++i) {
        EXPECT_LE(distance(machine, workers, self, order[i - 1]), distance(machine, workers, self, order[i]));
        EXPECT_GE(group(machine, workers, order[i - 1]) == group(machine, workers, self),
                  group(machine, workers, order[i]) == group(machine, workers, self));
      }
    }
  });
}

TEST_F(Machines, StealingOnTheNodeNeverLeavesIt) {
  for_each_worker([](const Topology& machine, const std::vector<WorkerPlacement>& workers, WorkerId self) {
    const std::vector<WorkerId> near =
        within(stealing_scope::node, steal_order(machine, workers, self), workers, self);
    const auto mates = std::ranges::count_if(
        workers, [&](const WorkerPlacement& worker) { return worker.node == workers[self.index()].node; });
    EXPECT_EQ(static_cast<std::ptrdiff_t>(near.size()), mates - 1);
    for (const WorkerId other : near) {
      EXPECT_EQ(workers[other.index()].node, workers[self.index()].node);
    }
  });
}

TEST_F(Machines, LocalityWakesForImmediateTasksOnTheNodeAndForDeferredOnesByDistance) {
  for_each_worker([](const Topology& machine, const std::vector<WorkerPlacement>& workers, WorkerId self) {
    const LocalityOrder order =
        locality_order(machine, workers, self, task_order::las, stealing_scope::machine);
    for (const WorkerId mate : order.group_mates) {
      EXPECT_EQ(group(machine, workers, mate), group(machine, workers, self));
    }
    for (const std::vector<WorkerId>& near : {order.node_mates, order.wake_immediate}) {
      for (const WorkerId mate : near) {
        EXPECT_EQ(workers[mate.index()].node, workers[self.index()].node);
      }
    }
    EXPECT_EQ(order.wake_deferred.size(), workers.size() - 1);
    EXPECT_TRUE(std::ranges::is_sorted(
        order.wake_deferred, {}, [&](WorkerId other) { return distance(machine, workers, self, other); }));
    // Together with its own, each group that has workers once.
    std::vector<std::size_t> groups = order.far_groups;
    groups.push_back(order.group);
    std::ranges::sort(groups);
    EXPECT_TRUE(std::ranges::adjacent_find(groups) == groups.end());
    std::vector<std::size_t> all = worker_groups(machine, workers, task_order::las);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    EXPECT_EQ(groups, all);
  });
}

}  // namespace
}  // namespace mxkv::runtime

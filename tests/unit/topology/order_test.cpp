// Steal and wake orders on a ring of four nodes, two core groups each, two cores a group, SMT 2.
#include "runtime/topology/order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/topology/build.hpp"

namespace mxkv::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kPusPerNode = 8;

Topology ring() {
  Result<Topology> topology =
      topology_from_xml(std::filesystem::path{MXKV_TOPOLOGY_FIXTURES} / "ring_of_four_nodes.xml");
  EXPECT_TRUE(topology.ok());
  return std::move(topology).value();
}

// Worker i on PU i.
std::vector<WorkerPlacement> one_a_pu(const Topology& topology) {
  std::vector<WorkerPlacement> workers;
  for (const ProcessingUnit& unit : topology.pus) {
    workers.push_back(WorkerPlacement{.pu = unit.pu, .node = unit.node, .pinned = true});
  }
  return workers;
}

std::vector<int> first(const std::vector<WorkerId>& order, std::size_t count) {
  std::vector<int> result;
  for (const WorkerId worker : order) {
    result.push_back(worker.value());
  }
  result.resize(std::min(count, result.size()));
  return result;
}

std::vector<int> nodes_of(const std::vector<WorkerId>& order) {
  std::vector<int> result;
  for (const WorkerId worker : order) {
    const int node = static_cast<int>(worker.index() / kPusPerNode);
    if (result.empty() || result.back() != node) {
      result.push_back(node);
    }
  }
  return result;
}

TEST(StealOrder, GoesFromSiblingToGroupToNode) {
  const Topology topology = ring();
  // PU 1's sibling is 0, its group 0-3, its node 0-7; equal ones come in turn after it.
  EXPECT_THAT(first(steal_order(topology, one_a_pu(topology), WorkerId{1}), 7),
              ElementsAre(0, 2, 3, 4, 5, 6, 7));
}

TEST(WakeOrder, TakesOtherCoresOfTheGroupBeforeTheSibling) {
  const Topology topology = ring();
  EXPECT_THAT(first(wake_order(topology, one_a_pu(topology), WorkerId{1}), 7),
              ElementsAre(2, 3, 0, 4, 5, 6, 7));
}

TEST(StealOrder, VisitsOtherNodesByDistance) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  // Node 1's neighbours on the ring are 2 and 0; 3 is opposite.
  EXPECT_THAT(nodes_of(steal_order(topology, workers, WorkerId{8})), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(nodes_of(wake_order(topology, workers, WorkerId{8})), ElementsAre(1, 2, 0, 3));
}

TEST(StealOrder, EqualVictimsAreTriedFromADifferentOneByEachThief) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  // 4-7 are one core group, 6 and 7 one core; 0-3 are the rest of the node.
  EXPECT_THAT(first(steal_order(topology, workers, WorkerId{6}), 7), ElementsAre(7, 4, 5, 0, 1, 2, 3));
  EXPECT_THAT(first(steal_order(topology, workers, WorkerId{4}), 7), ElementsAre(5, 6, 7, 0, 1, 2, 3));
  const Topology flat = topology_from_synthetic("Package:1 [NUMANode] L3Cache:1 Core:4 PU:1").value();
  EXPECT_THAT(first(steal_order(flat, one_a_pu(flat), WorkerId{0}), 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(first(steal_order(flat, one_a_pu(flat), WorkerId{2}), 3), ElementsAre(3, 0, 1));
}

TEST(StealOrder, NamesEveryOtherWorkerOnceFromEveryWorker) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  for (std::size_t self = 0; self < workers.size(); ++self) {
    const WorkerId id{static_cast<WorkerId::rep>(self)};
    for (std::vector<WorkerId> order :
         {steal_order(topology, workers, id), wake_order(topology, workers, id)}) {
      order.push_back(id);
      std::ranges::sort(order);
      ASSERT_EQ(order.size(), workers.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_EQ(order[i].index(), i);
      }
    }
  }
}

TEST(StealOrder, ALoneWorkerHasNobody) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers{one_a_pu(topology)[5]};
  EXPECT_TRUE(steal_order(topology, workers, WorkerId{0}).empty());
  EXPECT_TRUE(wake_order(topology, workers, WorkerId{0}).empty());
}

TEST(StealOrder, WorkersThatShareAPuAreNearestToEachOther) {
  const Topology topology = ring();
  std::vector<WorkerPlacement> workers = one_a_pu(topology);
  workers.push_back(workers[4]);  // worker 32, on the PU of worker 4
  EXPECT_THAT(first(steal_order(topology, workers, WorkerId{32}), 3), ElementsAre(4, 5, 6));
}

TEST(Within, StealingIsLimitedToANodeOrReachesAllNearestFirst) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  const WorkerId self{10};
  const std::vector<WorkerId> order = steal_order(topology, workers, self);
  EXPECT_EQ(within(stealing_scope::machine, order, workers, self), order);
  EXPECT_TRUE(within(stealing_scope::off, order, workers, self).empty());
  const std::vector<WorkerId> near = within(stealing_scope::node, order, workers, self);
  EXPECT_EQ(near.size(), kPusPerNode - 1);
  EXPECT_EQ(nodes_of(near), std::vector<int>{1});
  EXPECT_TRUE(std::equal(near.begin(), near.end(), order.begin())) << "in the same order";
}

TEST(WorkerGroups, AreCoreGroupsNumberedByTheirFirstWorkers) {
  const Topology topology = ring();
  std::vector<WorkerPlacement> workers = one_a_pu(topology);
  const std::vector<std::size_t> groups = worker_groups(topology, workers, task_order::las);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    ASSERT_EQ(groups[i], i / 4) << "worker " << i;
  }
  std::ranges::reverse(workers);
  EXPECT_EQ(worker_groups(topology, workers, task_order::las), groups);
  EXPECT_EQ(worker_groups(topology, workers, task_order::nls), std::vector<std::size_t>(32, 0));
}

TEST(WorkerGroups, WorkersOnUnknownPusAreOneGroupANode) {
  std::vector<WorkerPlacement> workers(4);
  workers[1].node = NumaNodeId{1};
  workers[3].node = NumaNodeId{1};
  EXPECT_EQ(worker_groups(plain_topology(workers), workers, task_order::las),
            (std::vector<std::size_t>{0, 1, 0, 1}));
}

TEST(LocalityOrder, NamesGroupThenFarGroupsByDistanceThenTheRestOfTheNode) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  // PU 13: node 1, its second group (number 3), sibling 12.
  const LocalityOrder order =
      locality_order(topology, workers, WorkerId{13}, task_order::las, stealing_scope::machine);
  EXPECT_EQ(order.group, 3U);
  EXPECT_THAT(first(order.group_mates, 9), ElementsAre(12, 14, 15));
  // The other group of its node, then nodes 2 and 0, which are its neighbours, then 3.
  EXPECT_EQ(order.far_groups, (std::vector<std::size_t>{2, 4, 5, 0, 1, 6, 7}));
  EXPECT_THAT(first(order.node_mates, 9), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(first(order.wake_immediate, 9), ElementsAre(14, 15, 12, 8, 9, 10, 11));
  EXPECT_EQ(order.wake_deferred, wake_order(topology, workers, WorkerId{13}));
}

TEST(LocalityOrder, GoesNoFurtherThanStealingMay) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  const LocalityOrder near =
      locality_order(topology, workers, WorkerId{13}, task_order::las, stealing_scope::node);
  EXPECT_EQ(near.far_groups, std::vector<std::size_t>{2});
  EXPECT_EQ(near.wake_deferred, near.wake_immediate);
  const LocalityOrder alone =
      locality_order(topology, workers, WorkerId{13}, task_order::las, stealing_scope::off);
  EXPECT_EQ(alone.group, 3U) << "its group's deferred tasks are its own";
  EXPECT_TRUE(alone.group_mates.empty() && alone.far_groups.empty() && alone.node_mates.empty());
  EXPECT_TRUE(alone.wake_immediate.empty() && alone.wake_deferred.empty());
}

TEST(LocalityOrder, TheBaselineKnowsNeitherGroupsNorNodes) {
  const Topology topology = ring();
  const std::vector<WorkerPlacement> workers = one_a_pu(topology);
  const LocalityOrder order =
      locality_order(topology, workers, WorkerId{13}, task_order::nls, stealing_scope::machine);
  EXPECT_EQ(order.group, 0U);
  EXPECT_TRUE(order.group_mates.empty() && order.far_groups.empty());
  EXPECT_THAT(first(order.node_mates, 3), ElementsAre(14, 15, 16)) << "whoever comes next";
  EXPECT_EQ(order.node_mates.size(), 31U);
  EXPECT_EQ(order.wake_immediate, order.node_mates);
}

TEST(PlainTopology, HasTheNodesOfItsWorkersAndOrdersThemInTurn) {
  std::vector<WorkerPlacement> workers(4);
  workers[2].node = NumaNodeId{2};
  const Topology plain = plain_topology(workers);
  EXPECT_EQ(plain.nodes.size(), 3U) << "one of them without a worker";
  EXPECT_EQ(first(steal_order(plain, workers, WorkerId{1}), 4), (std::vector{3, 0, 2}))
      << "its own node first, from the next one on";
}

}  // namespace
}  // namespace mxkv::runtime

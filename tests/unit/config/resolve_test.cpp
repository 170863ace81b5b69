// Workers and memory on invented machines.
#include "config/resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/topology/build.hpp"

namespace mxkv::config {
namespace {

using runtime::PuId;
using runtime::RuntimeOptions;
using runtime::Topology;
using ::testing::ElementsAre;

constexpr MachineFacts kFacts{.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 0};

// Two nodes of 8 GiB, two L3s each, two cores each, SMT 2: node 0 has PUs 0-7 (L3s 0-3, 4-7), node 1 8-15.
Topology machine() {
  return runtime::topology_from_synthetic("Package:2 [NUMANode(memory=8GiB)] L3Cache:2 L2Cache:2 Core:1 PU:2")
      .value();
}

RuntimeOptions resolved(const DaemonOptions& options, const Topology& topology) {
  runtime::Result<Resolved> result = resolve(options, topology, kFacts);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value().runtime : RuntimeOptions{};
}

std::string error_of(const DaemonOptions& options) {
  const runtime::Result<Resolved> result = resolve(options, machine(), kFacts);
  return result.ok() ? "no error" : result.error().message;
}

std::vector<int> pus(const RuntimeOptions& options) {
  std::vector<int> result;
  for (const runtime::WorkerPlacement& worker : options.workers) {
    result.push_back(worker.pu.value());
  }
  return result;
}

NodeOptions node_of(std::uint32_t index, std::uint32_t workers, std::vector<PuId> cpus,
                    std::size_t memory_bytes) {
  NodeOptions node;
  node.node = index;
  node.workers = workers;
  node.cpus = std::move(cpus);
  node.memory_bytes = memory_bytes;
  return node;
}

// An entry of `nodes:` that takes all CPUs of `index` and has no share of the memory.
NodeOptions whole_node(std::uint32_t index) {
  NodeOptions node;
  node.node = index;
  return node;
}

std::vector<PuId> cpus(std::initializer_list<std::uint16_t> list) {
  return std::vector<PuId>(list.begin(), list.end());
}

TEST(ResolveWorkers, TheDefaultIsOnePinnedToEachCpu) {
  const Topology topology = machine();
  const RuntimeOptions options = resolved(DaemonOptions{}, topology);
  ASSERT_EQ(options.workers.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(options.workers[i].pu.index(), i);
    EXPECT_EQ(options.workers[i].node, topology.find(options.workers[i].pu)->node);
    EXPECT_TRUE(options.workers[i].pinned);
  }
}

TEST(ResolveWorkers, FewAreSpreadOverNodesThenCoreGroupsThenCoresThenSiblings) {
  const Topology topology = machine();
  DaemonOptions options;
  options.workers = 1;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0));
  options.workers = 2;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0, 8));
  options.workers = 4;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0, 4, 8, 12));
  options.workers = 6;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0, 2, 4, 8, 10, 12));
  options.workers = 8;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  options.workers = 9;
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(0, 1, 2, 4, 6, 8, 10, 12, 14));
}

TEST(ResolveWorkers, MoreThanCpusShareThemUnpinned) {
  DaemonOptions options;
  options.workers = 3;
  const Topology topology = runtime::topology_from_synthetic("Package:1 [NUMANode] Core:2 PU:1").value();
  const RuntimeOptions result = resolved(options, topology);
  EXPECT_THAT(pus(result), ElementsAre(0, 1, 0));
  for (const runtime::WorkerPlacement& worker : result.workers) {
    EXPECT_FALSE(worker.pinned);
  }
}

TEST(ResolveWorkers, ChosenCpusAreTakenInTheOrderWritten) {
  DaemonOptions options;
  options.cpus = cpus({5, 0, 3});
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(5, 0, 3));
}

TEST(ResolveWorkers, FewerWorkersThanChosenCpusAreSpreadOverThem) {
  DaemonOptions options;
  options.cpus = cpus({0, 1, 2, 4});
  options.workers = 2;
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(0, 4));
  options.workers = 3;
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(0, 4, 2));
}

TEST(ResolveWorkers, MoreWorkersThanChosenCpusStayPinnedToThem) {
  DaemonOptions options;
  options.cpus = cpus({1});
  options.workers = 2;
  const RuntimeOptions result = resolved(options, machine());
  EXPECT_THAT(pus(result), ElementsAre(1, 1));
  EXPECT_TRUE(result.workers[0].pinned);
}

TEST(ResolveWorkers, TheWorkersOfANodeHaveConsecutiveIds) {
  DaemonOptions options;
  options.cpus = cpus({8, 0, 9, 1});
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(0, 1, 8, 9));
}

TEST(ResolveWorkers, NodesGiveCountsOrCpusOrEverything) {
  DaemonOptions options;
  options.nodes = {node_of(1, 2, {}, 0)};
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(8, 12));
  options.nodes.push_back(node_of(0, 0, cpus({3, 7}), 0));
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(3, 7, 8, 12));
  options.nodes = {node_of(1, 0, {}, 0)};
  EXPECT_THAT(pus(resolved(options, machine())), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(ResolveWorkers, AbsentCpusAndNodesAreErrorsThatSayWhatIsThere) {
  DaemonOptions options;
  options.cpus = cpus({3, 16});
  EXPECT_EQ(error_of(options),
            "cpus: CPU 16 does not exist, or this process may not use it (available: 0-15)");
  options = DaemonOptions{};
  options.nodes = {node_of(2, 0, {}, 0)};
  EXPECT_EQ(error_of(options),
            "nodes[0].node: NUMA node 2 does not exist, or this process may not use it (available: 0, 1)");
  options.nodes = {node_of(0, 0, cpus({99}), 0)};
  EXPECT_EQ(error_of(options),
            "nodes[0].cpus: CPU 99 does not exist, or this process may not use it (available: 0-15)");
}

TEST(ResolveWorkers, ContradictionsOfNodesAreErrors) {
  DaemonOptions options;
  options.nodes = {node_of(0, 0, cpus({8}), 0)};
  EXPECT_EQ(error_of(options), "nodes[0].cpus: CPU 8 is not of node 0 (it has 0-7)");
  options.nodes = {whole_node(1), whole_node(1)};
  EXPECT_EQ(error_of(options), "nodes[1].node: node 1 is listed twice (first as nodes[0])");
  options.nodes = {whole_node(1)};
  options.workers = 2;
  EXPECT_EQ(
      error_of(options),
      "workers: given together with nodes (allowed: one of them; nodes have workers and cpus of their own)");
  options.workers = 0;
  options.cpus = cpus({0});
  EXPECT_EQ(
      error_of(options),
      "cpus: given together with nodes (allowed: one of them; nodes have workers and cpus of their own)");
}

TEST(ResolveWorkers, ANodeWithoutCpusCannotHaveWorkers) {
  Topology topology = machine();
  topology.nodes.push_back(runtime::NumaNode{
      .node = runtime::NumaNodeId{2}, .os_index = 2, .memory_bytes = 1ULL << 30U, .pus = {}});
  topology.distances = runtime::uniform_distances(3);
  DaemonOptions options;
  options.nodes = {whole_node(2)};
  const runtime::Result<Resolved> result = resolve(options, topology, kFacts);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "nodes[0].node: node 2 has no CPU that this process may use");
}

TEST(ResolveMemory, EveryNodeOfSeveralCanBeBoundTo) {
  EXPECT_THAT(resolved(DaemonOptions{}, machine()).os_nodes, ElementsAre(0, 1));
  const Topology single = runtime::topology_from_synthetic("Core:2 PU:1").value();
  EXPECT_THAT(resolved(DaemonOptions{}, single).os_nodes, ::testing::IsEmpty());
}

TEST(ResolveMemory, TheDefaultIsThreeQuartersOfWhatThereIs) {
  EXPECT_EQ(default_memory_limit({.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 0}), 12ULL << 30U);
  EXPECT_EQ(default_memory_limit({.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 4ULL << 30U}),
            3ULL << 30U);
  EXPECT_EQ(default_memory_limit({.memory_bytes = 4ULL << 30U, .cgroup_limit_bytes = 16ULL << 30U}),
            3ULL << 30U);
  EXPECT_EQ(resolved(DaemonOptions{}, machine()).memory.limit_bytes, 12ULL << 30U);
}

TEST(ResolveMemory, AConfiguredLimitIsTaken) {
  DaemonOptions options;
  options.memory.limit_bytes = 64ULL << 20U;
  EXPECT_EQ(resolved(options, machine()).memory.limit_bytes, 64ULL << 20U);
}

TEST(ResolveMemory, SharesOfNodesAddUp) {
  DaemonOptions options;
  options.nodes = {node_of(0, 0, {}, 1ULL << 30U), node_of(1, 0, {}, 2ULL << 30U)};
  EXPECT_EQ(resolved(options, machine()).memory.limit_bytes, 3ULL << 30U);
  options.memory.limit_bytes = 1ULL << 30U;
  EXPECT_EQ(error_of(options),
            "memory.limit: given together with the memory of nodes (allowed: one of them)");
  options.memory.limit_bytes = 0;
  options.nodes[1].memory_bytes = 0;
  EXPECT_EQ(error_of(options), "nodes: some nodes have memory and some do not (allowed: all or none)");
  options.nodes[1].memory_bytes = 9ULL << 30U;
  EXPECT_EQ(error_of(options), "nodes[1].memory: node 1 has only 8GiB");
}

TEST(ResolveMemory, PercentIsOfWhatIsAvailableOrOfTheNode) {
  DaemonOptions options;
  options.memory_limit_percent = 50;
  EXPECT_EQ(resolved(options, machine()).memory.limit_bytes, 8ULL << 30U);
  options.memory_limit_percent = 0;
  options.nodes = {whole_node(0), whole_node(1)};
  options.nodes[0].memory_percent = 25;
  options.nodes[1].memory_bytes = 1ULL << 30U;
  const RuntimeOptions result = resolved(options, machine());
  EXPECT_EQ(result.memory.limit_bytes, 3ULL << 30U);
  EXPECT_THAT(result.node_bytes, ElementsAre(2ULL << 30U, 1ULL << 30U));
}

TEST(ResolveMemory, ANodeThatIsNotUsedHasAShareOfNothing) {
  DaemonOptions options;
  options.nodes = {node_of(1, 0, {}, 1ULL << 30U)};
  EXPECT_THAT(resolved(options, machine()).node_bytes, ElementsAre(0, 1ULL << 30U));
  options.nodes[0].memory_bytes = 0;
  EXPECT_THAT(resolved(options, machine()).node_bytes, ::testing::IsEmpty());
}

TEST(ResolveWorkers, AreAsManyAsTheControlGroupPaysFor) {
  constexpr MachineFacts kPaid{.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 0, .cgroup_cpus = 2};
  EXPECT_THAT(pus(resolve(DaemonOptions{}, machine(), kPaid).value().runtime), ElementsAre(0, 8));
  DaemonOptions options;
  options.workers = 3;
  EXPECT_EQ(resolve(options, machine(), kPaid).value().runtime.workers.size(), 3U) << "who asks gets";
  options.workers = 0;
  options.cpus = cpus({0, 1, 2});
  EXPECT_EQ(resolve(options, machine(), kPaid).value().runtime.workers.size(), 3U);
}

TEST(ResolveWorkers, OnlyUseTheCpusOfAnInheritedMask) {
  // As live_topology() sees a mask of CPUs 2, 3 and 9: the others do not exist.
  Topology topology = machine();
  std::erase_if(topology.pus, [](const runtime::ProcessingUnit& unit) {
    return unit.pu != PuId{2} && unit.pu != PuId{3} && unit.pu != PuId{9};
  });
  topology.nodes[0].pus = cpus({2, 3});
  topology.nodes[1].pus = cpus({9});
  EXPECT_THAT(pus(resolved(DaemonOptions{}, topology)), ElementsAre(2, 3, 9));
  DaemonOptions options;
  options.nodes = {whole_node(0)};
  EXPECT_THAT(pus(resolved(options, topology)), ElementsAre(2, 3));
  options.nodes[0].cpus = cpus({2, 4});
  const runtime::Result<Resolved> result = resolve(options, topology, kFacts);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "nodes[0].cpus: CPU 4 does not exist, or this process may not use it (available: 2-3,9)");
}

TEST(ResolveTopologies, CountOnlyNodesAndCpusThatThisProcessMayUse) {
  Topology topology = machine();
  std::erase_if(topology.pus, [](const runtime::ProcessingUnit& unit) { return unit.pu >= PuId{4}; });
  topology.nodes[0].pus = cpus({0, 1, 2, 3});
  topology.nodes[1].pus = {};
  DaemonOptions options;
  options.topologies.resize(2);
  options.topologies[0].name = "both";
  options.topologies[0].when.nodes = {.least = 2, .most = 2};
  options.topologies[1].name = "half";
  options.topologies[1].when.cpus = {.least = 4, .most = 4};
  EXPECT_EQ(resolve(options, topology, kFacts).value().topology, "half");
  EXPECT_EQ(resolve(options, machine(), kFacts).value().topology, "both");
}

TEST(ResolveTopologies, TheFirstThatFitsCounts) {
  DaemonOptions options;
  options.topologies.resize(3);
  options.topologies[0].when.memory_bytes = 17ULL << 30U;
  options.topologies[0].name = "too large";
  options.topologies[1].name = "first";
  options.topologies[1].workers = 3;
  options.topologies[1].when.memory_bytes = 16ULL << 30U;
  options.topologies[2].name = "second";
  const runtime::Result<Resolved> result = resolve(options, machine(), kFacts);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().topology, "first");
  EXPECT_EQ(result.value().runtime.workers.size(), 3U);
}

TEST(Resolve, PassesTheRestOn) {
  DaemonOptions options;
  options.prefetch.distance = 33;
  options.epoch.interval_ms = 7;
  options.epoch.mode = runtime::epoch_mode::task;
  options.memory.huge_pages = runtime::huge_pages_mode::off;
  options.memory.numa_placement = false;
  options.spin_rounds = 5;
  options.order = runtime::task_order::nls;
  options.order_reach = runtime::stealing_scope::off;
  const RuntimeOptions result = resolved(options, machine());
  EXPECT_EQ(result.prefetch.distance, 33U);
  EXPECT_EQ(result.epoch.interval_ms, 7U);
  EXPECT_EQ(result.epoch.mode, runtime::epoch_mode::task);
  EXPECT_EQ(result.memory.huge_pages, runtime::huge_pages_mode::off);
  EXPECT_FALSE(result.memory.numa_placement);
  EXPECT_EQ(result.spin_rounds, 5U);
  EXPECT_EQ(result.order, runtime::task_order::nls);
  EXPECT_EQ(result.order_reach, runtime::stealing_scope::off);
  ASSERT_NE(result.topology, nullptr) << "who is near whom";
  EXPECT_EQ(result.topology->pus.size(), machine().pus.size());
}

}  // namespace
}  // namespace mxkv::config

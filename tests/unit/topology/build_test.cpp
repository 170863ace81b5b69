// Topologies from synthetic strings, from XML and from this machine.
#include "runtime/topology/build.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/topology/binding.hpp"

namespace mxkv::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Every cross-reference of a topology agrees with the others.
void expect_consistent(const Topology& topology) {
  ASSERT_FALSE(topology.pus.empty());
  ASSERT_FALSE(topology.nodes.empty());
  ASSERT_EQ(topology.distances.size(), topology.nodes.size() * topology.nodes.size());
  std::size_t in_groups = 0;
  std::size_t in_nodes = 0;
  for (std::size_t i = 0; i < topology.core_groups.size(); ++i) {
    EXPECT_EQ(topology.core_groups[i].group.index(), i);
    EXPECT_FALSE(topology.core_groups[i].pus.empty());
    in_groups += topology.core_groups[i].pus.size();
  }
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    EXPECT_EQ(topology.nodes[i].node.index(), i);
    in_nodes += topology.nodes[i].pus.size();
  }
  EXPECT_EQ(in_groups, topology.pus.size());
  EXPECT_EQ(in_nodes, topology.pus.size());
  for (const ProcessingUnit& unit : topology.pus) {
    EXPECT_EQ(topology.find(unit.pu), &unit) << "PUs are not ascending";
    EXPECT_THAT(topology.core_groups.at(unit.group.index()).pus, ::testing::Contains(unit.pu));
    EXPECT_THAT(topology.nodes.at(unit.node.index()).pus, ::testing::Contains(unit.pu));
    EXPECT_EQ(topology.core_groups.at(unit.group.index()).node, unit.node);
  }
}

Topology synthetic(const std::string& description) {
  Result<Topology> topology = topology_from_synthetic(description);
  EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().message);
  return std::move(topology).value();
}

TEST(TopologyBuild, SyntheticMachineHasItsPusGroupsAndNodes) {
  const Topology topology = synthetic("Package:2 [NUMANode(memory=8GiB)] L3Cache:2 L2Cache:2 Core:1 PU:2");
  expect_consistent(topology);
  EXPECT_EQ(topology.pus.size(), 16U);
  EXPECT_EQ(topology.core_groups.size(), 4U);
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[1].memory_bytes, 8ULL << 30U);
  EXPECT_THAT(topology.core_groups[1].pus, ElementsAre(PuId{4}, PuId{5}, PuId{6}, PuId{7}));
  EXPECT_EQ(topology.find(PuId{4})->core, topology.find(PuId{5})->core) << "SMT siblings share a core";
  EXPECT_NE(topology.find(PuId{5})->core, topology.find(PuId{6})->core);
}

TEST(TopologyBuild, WithoutDistancesOtherNodesAreEquallyFar) {
  const Topology topology = synthetic("Package:3 [NUMANode] L3Cache:1 Core:1 PU:1");
  EXPECT_THAT(topology.distances, ElementsAre(10, 20, 20, 20, 10, 20, 20, 20, 10));
}

TEST(TopologyBuild, WithoutAnL3TheL2MakesTheCoreGroup) {
  const Topology topology = synthetic("Package:1 [NUMANode] L2Cache:2 Core:2 PU:1");
  expect_consistent(topology);
  ASSERT_EQ(topology.core_groups.size(), 2U);
  EXPECT_THAT(topology.core_groups[0].pus, ElementsAre(PuId{0}, PuId{1}));
}

TEST(TopologyBuild, WithoutAnyCacheTheNodeIsTheCoreGroup) {
  const Topology topology = synthetic("Package:2 [NUMANode] Core:2 PU:1");
  expect_consistent(topology);
  ASSERT_EQ(topology.core_groups.size(), 2U);
  EXPECT_THAT(topology.core_groups[1].pus, ElementsAre(PuId{2}, PuId{3}));
}

TEST(TopologyBuild, ACacheThatSpansNodesIsSplitByNode) {
  const Topology topology = synthetic("Package:1 L3Cache:1 Group:2 [NUMANode] Core:2 PU:1");
  expect_consistent(topology);
  ASSERT_EQ(topology.nodes.size(), 2U);
  ASSERT_EQ(topology.core_groups.size(), 2U);
  EXPECT_NE(topology.core_groups[0].node, topology.core_groups[1].node);
}

TEST(TopologyBuild, InterleavedOsIndexesStayAscendingAndFindable) {
  const Topology topology = synthetic("Package:2 [NUMANode] L3Cache:1 Core:2 PU:1(indexes=0,2,1,3)");
  expect_consistent(topology);
  EXPECT_THAT(topology.core_groups[0].pus, ElementsAre(PuId{0}, PuId{2}));
  EXPECT_EQ(topology.find(PuId{1})->node, NumaNodeId{1});
}

TEST(TopologyBuild, AbsentPusAndNodesAreNotFound) {
  const Topology topology = synthetic("Package:1 [NUMANode] Core:2 PU:1");
  EXPECT_EQ(topology.find(PuId{2}), nullptr);
  EXPECT_EQ(topology.find_node(1), nullptr);
  ASSERT_NE(topology.find_node(0), nullptr);
}

TEST(TopologyBuild, AMalformedDescriptionIsAnErrorThatQuotesIt) {
  const Result<Topology> topology = topology_from_synthetic("Package:two");
  ASSERT_FALSE(topology.ok());
  EXPECT_THAT(topology.error().message, HasSubstr("\"Package:two\" is not a synthetic topology"));
}

TEST(TopologyBuild, XmlBringsTheFirmwareDistances) {
  const Result<Topology> topology =
      topology_from_xml(std::filesystem::path{MXKV_TOPOLOGY_FIXTURES} / "ring_of_four_nodes.xml");
  ASSERT_TRUE(topology.ok()) << topology.error().message;
  expect_consistent(topology.value());
  EXPECT_EQ(topology.value().pus.size(), 32U);
  EXPECT_EQ(topology.value().core_groups.size(), 8U);
  EXPECT_THAT(topology.value().distances,
              ElementsAre(10, 21, 31, 21, 21, 10, 21, 31, 31, 21, 10, 21, 21, 31, 21, 10));
}

TEST(TopologyBuild, AMissingXmlFileIsAnErrorThatNamesIt) {
  const std::string file = std::filesystem::path{::testing::TempDir()} / "mxkv_no_machine.xml";
  std::filesystem::remove(file);
  const Result<Topology> topology = topology_from_xml(file);
  ASSERT_FALSE(topology.ok());
  EXPECT_THAT(topology.error().message, HasSubstr(file));
}

TEST(TopologyBuild, AFileThatIsNoTopologyIsAnError) {
  const std::filesystem::path file = std::filesystem::path{::testing::TempDir()} / "mxkv_no_topology.xml";
  std::ofstream{file} << "this is no XML\n";
  EXPECT_FALSE(topology_from_xml(file).ok());
  std::filesystem::remove(file);
}

TEST(TopologyBuild, TheLiveMachineIsConsistentAndHasExactlyTheAllowedPus) {
  const Result<Topology> topology = live_topology();
  ASSERT_TRUE(topology.ok()) << topology.error().message;
  expect_consistent(topology.value());
  cpu_set_t allowed;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed), 0);
  EXPECT_EQ(topology.value().pus.size(), static_cast<std::size_t>(CPU_COUNT(&allowed)));
  for (const ProcessingUnit& unit : topology.value().pus) {
    EXPECT_TRUE(CPU_ISSET(unit.pu.index(), &allowed)) << unit.pu.value();
  }
}

TEST(TopologyBuild, TheLiveMachineLeavesOutPusOutsideTheAffinity) {
  const Result<Topology> whole = live_topology();
  ASSERT_TRUE(whole.ok());
  const PuId last = whole.value().pus.back().pu;
  std::thread{[last, &whole] {
    ASSERT_TRUE(pin_current_thread(last).ok());
    const Result<Topology> part = live_topology();
    ASSERT_TRUE(part.ok()) << part.error().message;
    ASSERT_EQ(part.value().pus.size(), 1U);
    EXPECT_EQ(part.value().pus[0].pu, last);
    EXPECT_EQ(part.value().nodes.size(), whole.value().nodes.size()) << "memory stays usable";
  }}.join();
}

}  // namespace
}  // namespace mxkv::runtime

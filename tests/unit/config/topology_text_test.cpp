// The descriptions of invented machines; the configuration file made for a machine fits it.
#include "config/topology_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "config/resolve.hpp"
#include "runtime/topology/build.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSynthetic[] = {
    "Package:1 [NUMANode(memory=2GiB)] L3Cache:1 Core:1 PU:1",
    "Package:1 [NUMANode(memory=32GiB)] L3Cache:1 Core:8 PU:2",
    "Package:2 [NUMANode(memory=64GiB)] L3Cache:1 Core:8 PU:2",
    "Package:4 [NUMANode(memory=64GiB)] L3Cache:2 Core:8 PU:1",
    "Core:4 PU:1",
};

runtime::Topology machine(const char* description) {
  return runtime::topology_from_synthetic(description).value();
}

TEST(TopologyText, TheTableHasNodesCachesAndDistances) {
  const runtime::Topology topology = machine("Package:2 [NUMANode(memory=4GiB)] L3Cache:2 Core:2 PU:1");
  EXPECT_EQ(topology_table(topology, facts_of(topology)),
            "2 NUMA nodes, 4 groups of cores that share a cache, 8 CPUs, 8GiB\n"
            "\n"
            "node  memory  cores  CPUs  CPUs by shared cache\n"
            "0     4GiB    4      0-3   0-1 | 2-3\n"
            "1     4GiB    4      4-7   4-5 | 6-7\n"
            "\n"
            "distance  to 0  to 1\n"
            "from 0    10    20\n"
            "from 1    20    10\n");
}

TEST(TopologyText, TheTableTellsOfControlGroups) {
  const MachineFacts facts{.memory_bytes = 8ULL << 30U, .cgroup_limit_bytes = 1ULL << 30U, .cgroup_cpus = 1};
  EXPECT_THAT(topology_table(machine(kSynthetic[1]), facts),
              HasSubstr("8GiB; control group: at most 1GiB; control group: CPU time of 1 CPU\n"));
}

TEST(TopologyText, JsonHasTheSameInBytesAndNumbers) {
  const runtime::Topology topology = machine("Package:2 [NUMANode(memory=1GiB)] Core:1 PU:1");
  const std::string told =
      topology_json(topology, {.memory_bytes = 2ULL << 30U, .cgroup_limit_bytes = 0, .cgroup_cpus = 3});
  EXPECT_TRUE(told.ends_with("}\n"));
  EXPECT_EQ(nlohmann::ordered_json::parse(told),
            nlohmann::ordered_json::parse(
                "{\n  \"memory_bytes\": 2147483648,\n"
                "  \"cgroup_memory_bytes\": null,\n"
                "  \"cgroup_cpus\": 3,\n"
                "  \"nodes\": [{\"node\": 0, \"memory_bytes\": 1073741824, \"cpus\": [0]}, "
                "{\"node\": 1, \"memory_bytes\": 1073741824, \"cpus\": [1]}],\n"
                "  \"core_groups\": [{\"node\": 0, \"cpus\": [0]}, {\"node\": 1, \"cpus\": [1]}],\n"
                "  \"cpus\": [{\"cpu\": 0, \"core\": 0, \"core_group\": 0, \"node\": 0}, "
                "{\"cpu\": 1, \"core\": 1, \"core_group\": 1, \"node\": 1}],\n"
                "  \"distances\": [[10, 20], [20, 10]]\n}\n"));
}

TEST(TopologyText, TheFileFitsItsMachineAndPlacesAsAnEmptyOneDoes) {
  for (const char* description : kSynthetic) {
    const runtime::Topology topology = machine(description);
    const MachineFacts facts = facts_of(topology);
    const TemporaryFile file{topology_yaml(topology, facts)};
    const runtime::Result<DaemonOptions> options = load(file.path(), {});
    ASSERT_TRUE(options.ok()) << options.error().message;
    const runtime::Result<Resolved> resolved = resolve(options.value(), topology, facts);
    ASSERT_TRUE(resolved.ok()) << resolved.error().message;
    const Resolved plain = resolve(DaemonOptions{}, topology, facts).value();
    EXPECT_EQ(resolved.value().topology, "this-machine");
    ASSERT_EQ(resolved.value().runtime.workers.size(), plain.runtime.workers.size());
    for (std::size_t i = 0; i < plain.runtime.workers.size(); ++i) {
      EXPECT_EQ(resolved.value().runtime.workers[i].pu, plain.runtime.workers[i].pu);
    }
    EXPECT_LE(resolved.value().runtime.memory.limit_bytes, plain.runtime.memory.limit_bytes);
    EXPECT_GE(resolved.value().runtime.memory.limit_bytes, plain.runtime.memory.limit_bytes / 100 * 99);
  }
}

TEST(TopologyText, TheFileTakesWhatAnEmptyOneDoesWhereNodesTellLessThanTheMachine) {
  for (const char* description :
       {"Package:1 [NUMANode(memory=16GiB)] Core:2 PU:1", "Package:2 [NUMANode(memory=8GiB)] Core:2 PU:1"}) {
    runtime::Topology topology = machine(description);
    MachineFacts facts = facts_of(topology);
    facts.memory_bytes = 24ULL << 30U;
    share_out_memory(topology, facts);
    const TemporaryFile file{topology_yaml(topology, facts)};
    const runtime::Result<Resolved> resolved = resolve(load(file.path(), {}).value(), topology, facts);
    ASSERT_TRUE(resolved.ok()) << resolved.error().message;
    EXPECT_LE(resolved.value().runtime.memory.limit_bytes, 18ULL << 30U);
    EXPECT_GE(resolved.value().runtime.memory.limit_bytes, (18ULL << 30U) / 100 * 99);
  }
}

TEST(TopologyText, TheFileStaysBelowTheControlGroupsLimit) {
  const runtime::Topology topology = machine(kSynthetic[2]);
  const MachineFacts facts{
      .memory_bytes = 128ULL << 30U, .cgroup_limit_bytes = 16ULL << 30U, .cgroup_cpus = 4};
  const TemporaryFile file{topology_yaml(topology, facts)};
  const Resolved resolved = resolve(load(file.path(), {}).value(), topology, facts).value();
  EXPECT_EQ(resolved.runtime.workers.size(), 4U);
  EXPECT_LE(resolved.runtime.memory.limit_bytes, 12ULL << 30U);
}

TEST(Effective, SaysTheSameOnTheSameMachine) {
  for (const char* text : {"", "workers: 3\n", "cpus: 5,1\n", "workers: 40\n", "memory: {limit: 30%}\n",
                           "nodes: [{node: 1, workers: 2, memory: 50%, experimental: {prefetch: {window: "
                           "7}}}, {node: 0, cpus: \"1\", "
                           "memory: 1GiB, experimental: {prefetch: {mode: off}}}]\n",
                           "topologies: [{name: a, when: {nodes: 2}, nodes: [{node: 0, workers: 40}]}]\n"}) {
    const runtime::Topology topology = machine(kSynthetic[2]);
    const MachineFacts facts = facts_of(topology);
    const TemporaryFile file{text};
    const DaemonOptions options = load(file.path(), {}).value();
    const Resolved before = resolve(options, topology, facts).value();
    const DaemonOptions found = effective(options, before);
    EXPECT_TRUE(found.topologies.empty());
    const TemporaryFile printed{print_yaml(found)};
    const runtime::Result<DaemonOptions> again = load(printed.path(), {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    const Resolved after = resolve(again.value(), topology, facts).value();
    ASSERT_EQ(after.runtime.workers.size(), before.runtime.workers.size()) << text;
    for (std::size_t i = 0; i < before.runtime.workers.size(); ++i) {
      EXPECT_EQ(after.runtime.workers[i].pu, before.runtime.workers[i].pu) << text;
      EXPECT_EQ(after.runtime.workers[i].pinned, before.runtime.workers[i].pinned) << text;
      EXPECT_EQ(after.runtime.workers[i].prefetch.has_value(), before.runtime.workers[i].prefetch.has_value())
          << text;
      EXPECT_EQ(after.runtime.workers[i].prefetch.has_value(),
                before.runtime.workers[i].prefetch.has_value());
    }
    EXPECT_EQ(after.runtime.memory.limit_bytes, before.runtime.memory.limit_bytes) << text;
    EXPECT_EQ(after.runtime.node_bytes, before.runtime.node_bytes) << text;
  }
}

}  // namespace
}  // namespace mxkv::config

// Every example file on every kind of machine: it fits and is named, or the error says exactly why not.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "runtime/topology/build.hpp"

namespace mxkv::config {
namespace {

struct Machine {
  const char* name;
  const char* description;
};

constexpr Machine kMachines[] = {
    {"one node", "Package:1 [NUMANode(memory=32GiB)] L3Cache:1 Core:8 PU:2"},
    {"one small node", "Package:1 [NUMANode(memory=8GiB)] L3Cache:1 Core:2 PU:1"},
    {"two nodes", "Package:2 [NUMANode(memory=64GiB)] L3Cache:1 Core:8 PU:2"},
    {"two small nodes", "Package:2 [NUMANode(memory=16GiB)] L3Cache:1 Core:4 PU:1"},
    {"four nodes", "Package:4 [NUMANode(memory=64GiB)] L3Cache:2 Core:8 PU:1"},
    {"four small nodes", "Package:4 [NUMANode(memory=16GiB)] L3Cache:1 Core:4 PU:1"},
};

// The topology, then "node: workers on CPUs, memory" for each, then the limit; or the error.
std::string outcome(const std::filesystem::path& file, const Machine& machine) {
  const runtime::Topology topology = runtime::topology_from_synthetic(machine.description).value();
  Loaded loaded = read_options(file, {}, {});
  const Resolved resolved = resolve(loaded.options, topology, facts_of(topology), loaded.findings);
  if (!loaded.findings.empty()) {
    std::string error = to_error(loaded.findings).message;
    return error.substr(file.string().size() + 1);
  }
  std::string text = resolved.topology;
  for (const NodeShare& node : resolved.nodes) {
    text += "; " + std::to_string(node.os_index) + ": " + std::to_string(node.workers) + " on " +
            format_cpu_list(node.cpus);
    text += node.memory_bytes == 0 ? "" : ", " + format_size_rounded(node.memory_bytes);
  }
  return text + "; " + format_size_rounded(resolved.runtime.memory.limit_bytes);
}

std::vector<std::string> outcomes(const char* file) {
  std::vector<std::string> all;
  for (const Machine& machine : kMachines) {
    all.push_back(outcome(std::filesystem::path{MXKV_EXAMPLES} / file, machine));
  }
  return all;
}

TEST(Examples, OneNode) {
  EXPECT_EQ(
      outcomes("one-node.yaml"),
      (std::vector<std::string>{"one-node; 0: 16 on 0-15; 24GiB", "small; 0: 1 on 0; 6GiB",
                                "10:3: topologies: none fits this machine, which has nodes: 2, cpus: 32, "
                                "memory: 128GiB (small wants nodes: 1, cpus: 2-4; one-node wants nodes: 1)",
                                "10:3: topologies: none fits this machine, which has nodes: 2, cpus: 8, "
                                "memory: 32GiB (small wants nodes: 1, cpus: 2-4; one-node wants nodes: 1)",
                                "10:3: topologies: none fits this machine, which has nodes: 4, cpus: 64, "
                                "memory: 256GiB (small wants nodes: 1, cpus: 2-4; one-node wants nodes: 1)",
                                "10:3: topologies: none fits this machine, which has nodes: 4, cpus: 16, "
                                "memory: 64GiB (small wants nodes: 1, cpus: 2-4; one-node wants nodes: 1)"}));
}

TEST(Examples, TwoNodes) {
  EXPECT_EQ(outcomes("two-nodes.yaml"),
            (std::vector<std::string>{
                "11:3: topologies: none fits this machine, which has nodes: 1, cpus: 16, memory: 32GiB "
                "(two-sockets wants nodes: 2, cpus: 32, memory: 96GiB; two-nodes wants nodes: 2)",
                "11:3: topologies: none fits this machine, which has nodes: 1, cpus: 2, memory: 8GiB "
                "(two-sockets wants nodes: 2, cpus: 32, memory: 96GiB; two-nodes wants nodes: 2)",
                "two-sockets; 0: 14 on 2-15, 44.7GiB; 1: 16 on 16-31, 51.1GiB; 95.9GiB",
                "two-nodes; 0: 4 on 0-3; 1: 4 on 4-7; 24GiB",
                "11:3: topologies: none fits this machine, which has nodes: 4, cpus: 64, memory: 256GiB "
                "(two-sockets wants nodes: 2, cpus: 32; two-nodes wants nodes: 2)",
                "11:3: topologies: none fits this machine, which has nodes: 4, cpus: 16, memory: 64GiB "
                "(two-sockets wants nodes: 2, cpus: 32, memory: 96GiB; two-nodes wants nodes: 2)"}));
}

TEST(Examples, FourNodes) {
  EXPECT_EQ(
      outcomes("four-nodes.yaml"),
      (std::vector<std::string>{
          "9:3: topologies: none fits this machine, which has nodes: 1, cpus: 16, memory: 32GiB "
          "(four-large-nodes wants nodes: 4, cpus: 64+; four-nodes wants nodes: 4; half wants nodes: 2, "
          "memory: 64GiB)",
          "9:3: topologies: none fits this machine, which has nodes: 1, cpus: 2, memory: 8GiB "
          "(four-large-nodes wants nodes: 4, cpus: 64+; four-nodes wants nodes: 4; half wants nodes: 2, "
          "memory: 64GiB)",
          "half; 0: 16 on 0-15, 38.3GiB; 38.3GiB",
          "9:3: topologies: none fits this machine, which has nodes: 2, cpus: 8, memory: 32GiB "
          "(four-large-nodes wants nodes: 4, cpus: 64+; four-nodes wants nodes: 4; half wants memory: 64GiB)",
          "four-large-nodes; 0: 12 on 0-5,8-13, 48GiB; 1: 12 on 16-21,24-29, 48GiB; 2: 12 on 32-37,40-45, "
          "48GiB; 3: 4 on 48-49,56-57, 8GiB; 152GiB",
          "four-nodes; 0: 4 on 0-3; 1: 4 on 4-7; 2: 4 on 8-11; 3: 4 on 12-15; 48GiB"}));
}

TEST(Examples, TwoNodesSaysWhatTheWorkersOfNodeOneDoOtherwise) {
  const Loaded loaded = read_options(std::filesystem::path{MXKV_EXAMPLES} / "two-nodes.yaml", {}, {});
  const runtime::Topology topology = runtime::topology_from_synthetic(kMachines[2].description).value();
  const runtime::Result<Resolved> resolved = resolve(loaded.options, topology, facts_of(topology));
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  for (const runtime::WorkerPlacement& worker : resolved.value().runtime.workers) {
    EXPECT_EQ(worker.prefetch.has_value(), worker.node == runtime::NumaNodeId{1});
    if (worker.prefetch) {
      EXPECT_EQ(worker.prefetch->mode, runtime::prefetch_mode::distance);
      EXPECT_EQ(worker.prefetch->distance, 24U);
      EXPECT_EQ(worker.prefetch->window, loaded.options.prefetch.window);
    }
  }
}

TEST(Examples, ThereIsATestForEachFile) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator{MXKV_EXAMPLES}) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"one-node.yaml", "two-nodes.yaml", "four-nodes.yaml"}));
}

}  // namespace
}  // namespace mxkv::config

// Machines that tests invent: of one to eight nodes, even and uneven, with nodes of memory alone, with CPUs
// that are offline or that this process may not use.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::runtime::testing {

/// Nodes with so many CPUs each, numbered from 0 through, two to a core group; `absent` ones are missing, as
/// are groups all of whose CPUs are. Two neighbouring CPUs are one core's threads if `siblings`.
inline Topology invented(const std::vector<std::size_t>& cpus_of_nodes,
                         const std::set<std::size_t>& absent = {}, bool siblings = false) {
  Topology machine;
  std::size_t cpu = 0;
  for (std::size_t n = 0; n < cpus_of_nodes.size(); ++n) {
    const NumaNodeId node{static_cast<std::uint16_t>(n)};
    machine.nodes.push_back({.node = node, .os_index = node.value(), .memory_bytes = 0, .pus = {}});
    for (std::size_t i = 0; i < cpus_of_nodes[n]; ++i, ++cpu) {
      if (absent.contains(cpu)) {
        continue;
      }
      const PuId pu{static_cast<std::uint16_t>(cpu)};
      if (machine.core_groups.empty() || machine.core_groups.back().node != node ||
          machine.core_groups.back().pus.back().value() / 2 != cpu / 2) {
        machine.core_groups.push_back(
            {.group = CoreGroupId{static_cast<std::uint16_t>(machine.core_groups.size())},
             .node = node,
             .pus = {}});
      }
      machine.core_groups.back().pus.push_back(pu);
      machine.nodes.back().pus.push_back(pu);
      const auto core = static_cast<std::uint16_t>(siblings ? cpu / 2 : cpu);
      machine.pus.push_back(
          {.pu = pu, .node = node, .group = machine.core_groups.back().group, .core = CoreId{core}});
    }
  }
  machine.distances = uniform_distances(machine.nodes.size());
  return machine;
}

/// The same machine with its nodes in a row: the further apart, the more distant.
inline Topology in_a_row(Topology machine) {
  const std::size_t nodes = machine.nodes.size();
  for (std::size_t from = 0; from < nodes; ++from) {
    for (std::size_t to = 0; to < nodes; ++to) {
      machine.distances[from * nodes + to] =
          static_cast<std::uint32_t>(10 + 6 * (from < to ? to - from : from - to));
    }
  }
  return machine;
}

inline std::vector<WorkerPlacement> one_on_each(const Topology& machine) {
  std::vector<WorkerPlacement> workers;
  for (const ProcessingUnit& unit : machine.pus) {
    workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = false});
  }
  return workers;
}

struct NamedMachine {
  std::string name;
  Topology machine;
};

/// The machines on which decisions about places are tested.
inline std::vector<NamedMachine> all_machines() {
  return {{"one node", invented({4})},
          {"one CPU", invented({1})},
          {"one node with siblings", invented({8}, {}, true)},
          {"two nodes", in_a_row(invented({4, 4}))},
          {"two uneven nodes", in_a_row(invented({6, 2}, {}, true))},
          {"four nodes", in_a_row(invented({4, 4, 4, 4}, {}, true))},
          {"four uneven nodes", in_a_row(invented({4, 1, 3, 8}))},
          {"four nodes, two of memory alone", in_a_row(invented({4, 0, 4, 0}))},
          {"first node of memory alone", in_a_row(invented({0, 4}))},
          {"eight nodes", in_a_row(invented({2, 2, 2, 2, 2, 2, 2, 2}))},
          {"eight uneven nodes, two of memory alone", in_a_row(invented({1, 0, 5, 0, 2, 2, 1, 7}))},
          {"two nodes, some CPUs offline", in_a_row(invented({4, 4}, {1, 4, 7}))},
          {"four nodes, all CPUs of one offline", in_a_row(invented({2, 2, 2, 2}, {2, 3}))},
          {"a mask of three CPUs on two nodes",
           in_a_row(invented({8, 8}, {0, 1, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15}, true))}};
}

}  // namespace mxkv::runtime::testing

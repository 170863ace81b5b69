// Places workers on PUs. The order of spreading: each core group gets a worker before one gets a second,
// each core before an SMT sibling is used, nodes taking turns; so few workers have most cache and memory
// bandwidth. Then they are numbered by neighbourhood.
#include "config/resolve.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "config/parse.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::NumaNode;
using runtime::ProcessingUnit;
using runtime::PuId;
using runtime::Result;
using runtime::Topology;
using runtime::WorkerPlacement;

using Units = std::vector<const ProcessingUnit*>;

// The PUs in the order in which workers are spread over them.
Units spread(Units units) {
  std::ranges::sort(units, {}, [](const ProcessingUnit* unit) {
    return std::tuple{unit->node, unit->group, unit->core, unit->pu};
  });
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, runtime::NumaNodeId, PuId>;
  std::map<runtime::CoreId, std::size_t> pus_in_core;
  std::map<runtime::CoreGroupId, std::set<runtime::CoreId>> cores_in_group;
  std::map<runtime::NumaNodeId, std::set<runtime::CoreGroupId>> groups_in_node;
  std::vector<std::pair<Key, const ProcessingUnit*>> ranked;
  for (const ProcessingUnit* unit : units) {
    groups_in_node[unit->node].insert(unit->group);
    cores_in_group[unit->group].insert(unit->core);
    const std::size_t sibling = pus_in_core[unit->core]++;
    // Units come sorted, so the sets hold what came before in the same node and group.
    ranked.emplace_back(Key{sibling, cores_in_group[unit->group].size(), groups_in_node[unit->node].size(),
                            unit->node, unit->pu},
                        unit);
  }
  std::ranges::sort(ranked);
  Units result;
  result.reserve(ranked.size());
  for (const auto& [key, unit] : ranked) {
    result.push_back(unit);
  }
  return result;
}

// The workers of a node get consecutive ids; the order given stays otherwise.
std::vector<WorkerPlacement> by_node(const std::vector<WorkerPlacement>& placements) {
  std::map<runtime::NumaNodeId, std::vector<WorkerPlacement>> nodes;
  for (const WorkerPlacement& placement : placements) {
    nodes[placement.node].push_back(placement);
  }
  std::vector<WorkerPlacement> result;
  result.reserve(placements.size());
  for (const auto& [node, part] : nodes) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

// `workers` of them (0: one for each) on `units`; more workers than units go round again.
std::vector<WorkerPlacement> place(const Units& units, std::size_t workers, bool units_were_chosen) {
  const std::size_t count = workers == 0 ? units.size() : workers;
  Units order = count < units.size() ? spread(units) : units;
  // Two pinned to one CPU cannot give way to each other: without a wish of the user's, let them float.
  const bool pinned = count <= units.size() || units_were_chosen;
  if (count < order.size()) {
    order.resize(count);
  }
  if (!units_were_chosen) {
    std::ranges::sort(order, {}, [](const ProcessingUnit* unit) {
      return std::tuple{unit->node, unit->group, unit->core, unit->pu};
    });
  }
  std::vector<WorkerPlacement> placements;
  placements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ProcessingUnit& unit = *order[i % order.size()];
    placements.push_back(WorkerPlacement{.pu = unit.pu, .node = unit.node, .pinned = pinned});
  }
  return by_node(placements);
}

std::string available_cpus(const Topology& topology) {
  std::vector<PuId> all;
  all.reserve(topology.pus.size());
  for (const ProcessingUnit& unit : topology.pus) {
    all.push_back(unit.pu);
  }
  return " (available: " + format_cpu_list(all) + ")";
}

std::string available_nodes(const Topology& topology) {
  std::string text;
  for (const NumaNode& node : topology.nodes) {
    text.append(text.empty() ? " (available: " : ", ").append(std::to_string(node.os_index));
  }
  return text + ")";
}

// The units of a list of CPUs; all of `topology` for an empty list.
Result<Units> units_of(const Topology& topology, const std::vector<PuId>& cpus, const std::string& key) {
  Units units;
  for (const PuId cpu : cpus) {
    const ProcessingUnit* unit = topology.find(cpu);
    if (unit == nullptr) {
      return Error{key + ": CPU " + std::to_string(cpu.value()) +
                   " is not there, or this process may not use it" + available_cpus(topology)};
    }
    units.push_back(unit);
  }
  if (cpus.empty()) {
    for (const ProcessingUnit& unit : topology.pus) {
      units.push_back(&unit);
    }
  }
  return units;
}

// The workers of one entry of `nodes:`.
Result<std::vector<WorkerPlacement>> place_on_node(const Topology& topology, const NodeOptions& wanted,
                                                   const std::string& key) {
  const NumaNode* node = topology.find_node(wanted.node);
  if (node == nullptr) {
    return Error{key + ".node: NUMA node " + std::to_string(wanted.node) +
                 " is not there, or this process may not use it" + available_nodes(topology)};
  }
  const std::string name = "node " + std::to_string(wanted.node);
  if (node->pus.empty()) {
    return Error{key + ".node: " + name + " has no CPU that this process may use"};
  }
  const Result<Units> units =
      units_of(topology, wanted.cpus.empty() ? node->pus : wanted.cpus, key + ".cpus");
  if (!units) {
    return units.error();
  }
  for (const ProcessingUnit* unit : units.value()) {
    if (unit->node != node->node) {
      std::string message = key + ".cpus: CPU ";
      message.append(std::to_string(unit->pu.value())).append(" is not of ").append(name);
      message.append(" (it has ").append(format_cpu_list(node->pus)).append(")");
      return Error{std::move(message)};
    }
  }
  if (node->memory_bytes != 0 && wanted.memory_bytes > node->memory_bytes) {
    return Error{key + ".memory: " + name + " has only " + format_size(node->memory_bytes)};
  }
  return place(units.value(), wanted.workers, !wanted.cpus.empty());
}

Result<std::vector<WorkerPlacement>> place_on_nodes(const DaemonOptions& options, const Topology& topology) {
  if (options.workers != 0 || !options.cpus.empty()) {
    return Error{
        std::string{options.workers != 0 ? "workers" : "cpus"} +
        ": given together with nodes (allowed: one of them; nodes have workers and cpus of their own)"};
  }
  std::vector<WorkerPlacement> placements;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < options.nodes.size(); ++i) {
    const std::string key = "nodes[" + std::to_string(i) + "]";
    if (!seen.insert(options.nodes[i].node).second) {
      return Error{key + ".node: node " + std::to_string(options.nodes[i].node) + " is listed twice"};
    }
    const Result<std::vector<WorkerPlacement>> part = place_on_node(topology, options.nodes[i], key);
    if (!part) {
      return part.error();
    }
    placements.insert(placements.end(), part.value().begin(), part.value().end());
  }
  return by_node(placements);
}

// What tree, items and buffers may take together.
Result<std::size_t> memory_limit(const DaemonOptions& options, const MachineFacts& facts) {
  std::size_t shares = 0;
  std::size_t sum = 0;
  for (const NodeOptions& node : options.nodes) {
    shares += node.memory_bytes != 0 ? 1U : 0U;
    sum += node.memory_bytes;
  }
  if (shares == 0) {
    return options.memory.limit_bytes != 0 ? options.memory.limit_bytes : default_memory_limit(facts);
  }
  if (shares != options.nodes.size()) {
    return Error{"nodes: some have memory and some have not (allowed: all or none)"};
  }
  if (options.memory.limit_bytes != 0) {
    return Error{"memory.limit: given together with the memory of nodes (allowed: one of them)"};
  }
  return sum;
}

}  // namespace

Result<runtime::RuntimeOptions> resolve(const DaemonOptions& options, const Topology& topology,
                                        const MachineFacts& facts) {
  const Result<std::size_t> limit = memory_limit(options, facts);
  if (!limit) {
    return limit.error();
  }
  const Result<Units> units = units_of(topology, options.cpus, "cpus");
  if (!units) {
    return units.error();
  }
  Result<std::vector<WorkerPlacement>> workers =
      options.nodes.empty() ? place(units.value(), options.workers, !options.cpus.empty())
                            : place_on_nodes(options, topology);
  if (!workers) {
    return workers.error();
  }
  runtime::RuntimeOptions resolved;
  resolved.workers = std::move(workers).value();
  if (topology.nodes.size() > 1) {
    for (const runtime::NumaNode& node : topology.nodes) {
      resolved.os_nodes.push_back(node.os_index);
    }
  }
  resolved.prefetch = options.prefetch;
  resolved.memory = options.memory;
  resolved.memory.limit_bytes = limit.value();
  resolved.epoch = options.epoch;
  resolved.spin_rounds = options.spin_rounds;
  return resolved;
}

}  // namespace mxkv::config

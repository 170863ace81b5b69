#include "config/topology_text.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/parse.hpp"
#include "config/resolve.hpp"

namespace mxkv::config {
namespace {

using runtime::CoreGroup;
using runtime::NumaNode;
using runtime::ProcessingUnit;
using runtime::Topology;
using Json = nlohmann::ordered_json;

std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& texts, std::string_view between) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.append(i == 0 ? "" : between).append(texts[i]);
  }
  return all;
}

std::size_t cores_of(const Topology& topology, const NumaNode& node) {
  std::set<runtime::CoreId> cores;
  for (const ProcessingUnit& unit : topology.pus) {
    if (unit.node == node.node) {
      cores.insert(unit.core);
    }
  }
  return cores.size();
}

std::string caches_of(const Topology& topology, const NumaNode& node) {
  std::vector<std::string> groups;
  for (const CoreGroup& group : topology.core_groups) {
    if (group.node == node.node) {
      groups.push_back(format_cpu_list(group.pus));
    }
  }
  return groups.empty() ? "none" : join(groups, " | ");
}

std::string memory_of(const NumaNode& node) {
  return node.memory_bytes == 0 ? "unknown" : format_size_rounded(node.memory_bytes);
}

// Rows of cells as columns of equal width; the last one is not padded.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t padding = i + 1 == row.size() ? 0 : widths[i] - row[i].size() + 2;
      text.append(row[i]).append(padding, ' ');
    }
    text.append("\n");
  }
  return text;
}

std::string summary(const Topology& topology, const MachineFacts& facts) {
  std::string text = count_of(topology.nodes.size(), "NUMA node") + ", " +
                     count_of(topology.core_groups.size(), "group") + " of cores that share a cache, " +
                     count_of(topology.pus.size(), "CPU") + ", " + format_size_rounded(facts.memory_bytes);
  if (facts.cgroup_limit_bytes != 0) {
    text += "; control group: at most " + format_size_rounded(facts.cgroup_limit_bytes);
  }
  if (facts.cgroup_cpus != 0) {
    text += "; control group: CPU time of " + count_of(facts.cgroup_cpus, "CPU");
  }
  return text;
}

/// A count, or null if it is unknown.
Json or_null(std::size_t number) {
  return number == 0 ? Json{} : Json(number);
}

Json json_cpus(const std::vector<runtime::PuId>& cpus) {
  Json list = Json::array();
  for (const runtime::PuId cpu : cpus) {
    list.push_back(cpu.value());
  }
  return list;
}

}  // namespace

std::string topology_table(const Topology& topology, const MachineFacts& facts) {
  std::vector<std::vector<std::string>> rows{{"node", "memory", "cores", "CPUs", "CPUs by shared cache"}};
  for (const NumaNode& node : topology.nodes) {
    rows.push_back({std::to_string(node.os_index), memory_of(node), std::to_string(cores_of(topology, node)),
                    node.pus.empty() ? "none" : format_cpu_list(node.pus), caches_of(topology, node)});
  }
  std::string text = summary(topology, facts) + "\n\n" + aligned(rows);
  if (topology.nodes.size() > 1) {
    std::vector<std::vector<std::string>> distances{{"distance"}};
    for (const NumaNode& to : topology.nodes) {
      distances.front().push_back("to " + std::to_string(to.os_index));
    }
    for (const NumaNode& from : topology.nodes) {
      distances.push_back({"from " + std::to_string(from.os_index)});
      for (const NumaNode& to : topology.nodes) {
        distances.back().push_back(std::to_string(topology.distance(from.node, to.node)));
      }
    }
    text += "\n" + aligned(distances);
  }
  return text;
}

std::string topology_json(const Topology& topology, const MachineFacts& facts) {
  const auto os_index = [&topology](runtime::NumaNodeId node) {
    return topology.nodes[node.index()].os_index;
  };
  Json machine{{"memory_bytes", facts.memory_bytes},
               {"cgroup_memory_bytes", or_null(facts.cgroup_limit_bytes)},
               {"cgroup_cpus", or_null(facts.cgroup_cpus)},
               {"nodes", Json::array()},
               {"core_groups", Json::array()},
               {"cpus", Json::array()},
               {"distances", Json::array()}};
  for (const NumaNode& node : topology.nodes) {
    machine["nodes"].push_back({{"node", node.os_index},
                                {"memory_bytes", or_null(node.memory_bytes)},
                                {"cpus", json_cpus(node.pus)}});
    Json row = Json::array();
    for (const NumaNode& to : topology.nodes) {
      row.push_back(topology.distance(node.node, to.node));
    }
    machine["distances"].push_back(std::move(row));
  }
  for (const CoreGroup& group : topology.core_groups) {
    machine["core_groups"].push_back({{"node", os_index(group.node)}, {"cpus", json_cpus(group.pus)}});
  }
  for (const ProcessingUnit& unit : topology.pus) {
    machine["cpus"].push_back({{"cpu", unit.pu.value()},
                               {"core", unit.core.value()},
                               {"core_group", unit.group.value()},
                               {"node", os_index(unit.node)}});
  }
  return machine.dump(2) + "\n";
}

std::string topology_yaml(const Topology& topology, const MachineFacts& facts) {
  Findings none;
  const Resolved resolved = resolve(DaemonOptions{}, topology, facts, none);
  MXKV_ASSERT(none.empty(), "an empty configuration fits every machine");
  std::size_t total = 0;
  bool known = true;
  for (const NodeShare& share : resolved.nodes) {
    const std::size_t bytes = topology.find_node(share.os_index)->memory_bytes;
    total += bytes;
    known = known && bytes != 0;
  }
  const auto used_nodes =
      std::ranges::count_if(topology.nodes, [](const NumaNode& n) { return !n.pus.empty(); });
  std::string text = "# A machine of " + summary(topology, facts) + ".\n";
  text +=
      "# Other machines need topologies of their own: add them to the list, the first that fits is taken.\n";
  text += "topologies:\n  - name: this-machine\n    when: {nodes: " + std::to_string(used_nodes) +
          ", cpus: " + std::to_string(topology.pus.size()) + "}\n    nodes:\n";
  for (const NodeShare& share : resolved.nodes) {
    // Each node has its part of the limit, but leaves room for other processes on the node, as the machine
    // does.
    const std::size_t node_bytes = topology.find_node(share.os_index)->memory_bytes;
    const std::size_t limit = default_memory_limit(facts);
    const std::size_t part = total == 0 ? 0 : limit / 1024 * (node_bytes / 1024) / (total / 1024) * 1024;
    const std::size_t whole = std::min(part, node_bytes / 4 * 3) >> 20U;
    text += "      - node: " + std::to_string(share.os_index) + "\n        cpus: \"" +
            format_cpu_list(share.cpus) + "\"\n";
    constexpr std::size_t kLeastMib = 16;
    text += known && whole >= kLeastMib ? "        memory: " + std::to_string(whole) + "MiB\n" : "";
  }
  return text;
}

}  // namespace mxkv::config

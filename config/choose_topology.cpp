#include "config/choose_topology.hpp"

#include <algorithm>

#include "config/parse.hpp"

namespace mxkv::config {
namespace {

bool within(std::size_t count, const CountRange& range) {
  return count >= range.least && count <= range.most;
}

void add(std::string& list, const std::string& item) {
  list.append(list.empty() ? "" : ", ").append(item);
}

}  // namespace

std::optional<std::size_t> choose_topology(std::span<const TopologySection> sections,
                                           const runtime::Topology& topology, const MachineFacts& facts,
                                           std::string& why) {
  const auto nodes = static_cast<std::size_t>(
      std::ranges::count_if(topology.nodes, [](const runtime::NumaNode& node) { return !node.pus.empty(); }));
  const std::size_t cpus = topology.pus.size();
  const std::size_t memory = available_memory(facts);
  why = "none fits this machine, which has nodes: " + std::to_string(nodes) +
        ", cpus: " + std::to_string(cpus) + ", memory: " + format_size_rounded(memory) + " (";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const TopologyCondition& when = sections[i].when;
    std::string missing;
    if (!within(nodes, when.nodes)) {
      add(missing, "nodes: " + format_count_range(when.nodes));
    }
    if (!within(cpus, when.cpus)) {
      add(missing, "cpus: " + format_count_range(when.cpus));
    }
    if (memory < when.memory_bytes) {
      add(missing, "memory: " + format_size(when.memory_bytes));
    }
    if (missing.empty()) {
      return i;
    }
    why.append(i == 0 ? "" : "; ").append(sections[i].name).append(" wants ").append(missing);
  }
  why += ")";
  return std::nullopt;
}

}  // namespace mxkv::config

#include "config/machine_names.hpp"

#include <algorithm>

#include "config/parse.hpp"

namespace mxkv::config {

using runtime::NumaNode;
using runtime::ProcessingUnit;
using runtime::PuId;
using runtime::Topology;

std::vector<PuId> all_cpus(const Topology& topology) {
  std::vector<PuId> all(topology.pus.size());
  std::ranges::transform(topology.pus, all.begin(), &ProcessingUnit::pu);
  return all;
}

std::string available_nodes(const Topology& topology) {
  std::string text;
  for (const NumaNode& node : topology.nodes) {
    text.append(text.empty() ? "" : ", ").append(std::to_string(node.os_index));
  }
  return text;
}

std::string name_of(const std::vector<PuId>& cpus) {
  return (cpus.size() == 1 ? "CPU " : "CPUs ") + format_cpu_list(cpus);
}

}  // namespace mxkv::config

// Compares options with the machine: adds findings that do not fit, and writes detected values into the
// options.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "config/resolve.hpp"

namespace mxkv::config {
namespace {

using runtime::PuId;
using runtime::WorkerPlacement;

// The CPUs of pinned workers; empty if some worker floats or shares its CPU.
std::vector<PuId> own_cpus(const std::vector<WorkerPlacement>& workers) {
  std::vector<PuId> cpus;
  for (const WorkerPlacement& worker : workers) {
    if (!worker.pinned || std::ranges::find(cpus, worker.pu) != cpus.end()) {
      return {};
    }
    cpus.push_back(worker.pu);
  }
  return cpus;
}

// An entry of `nodes:` with the CPUs of all workers of its node.
NodeOptions exact(const NodeOptions& given, const Resolved& resolved) {
  NodeOptions node = given;
  const auto share = std::ranges::find(resolved.nodes, given.node, &NodeShare::os_index);
  if (share != resolved.nodes.end()) {
    const bool pinned = share->cpus.size() == share->workers;
    node.cpus = pinned ? share->cpus : given.cpus;
    node.workers = pinned ? 0 : static_cast<std::uint32_t>(share->workers);
    node.memory_bytes = share->memory_bytes;
    node.memory_percent = 0;
  }
  return node;
}

// A value without a place in file or flags was detected.
void found_out(Origins& origins, const std::string& path) {
  if (find_origin(origins, path) == nullptr) {
    origins[path] = Origin{.source = "detected"};
  }
}

// Whether the options' placement and memory are free of mistakes, so that they can be compared with a
// machine.
bool placement_is_known(const Findings& findings) {
  constexpr std::array<std::string_view, 5> kKeys{"workers", "cpus", "nodes", "topologies", "memory"};
  return std::ranges::none_of(findings, [&kKeys](const Finding& finding) {
    return finding.path.empty() || std::ranges::any_of(kKeys, [&finding](std::string_view key) {
             return finding.path.starts_with(key);
           });
  });
}

}  // namespace

Resolved add_misfits(Loaded& loaded, const runtime::Topology& topology, const MachineFacts& facts) {
  return placement_is_known(loaded.findings) ? resolve(loaded.options, topology, facts, loaded.findings)
                                             : Resolved{};
}

DaemonOptions effective(const DaemonOptions& options, const Resolved& resolved) {
  DaemonOptions result = options;
  const PlacementOptions* placement = &options;
  const auto section = std::ranges::find(options.topologies, resolved.topology, &TopologySection::name);
  if (section != options.topologies.end()) {
    placement = &*section;
    const std::string path = "topologies[" + std::to_string(section - options.topologies.begin()) + "]";
    for (const char* key : {"workers", "cpus", "nodes"}) {
      const auto origin = options.origins.find(path + "." + key);
      if (origin != options.origins.end()) {
        result.origins[key] = origin->second;
      }
    }
    result.topologies.clear();
    forget_origins(result.origins, "topologies");
  }
  static_cast<PlacementOptions&>(result) = *placement;
  if (!result.nodes.empty()) {
    for (NodeOptions& node : result.nodes) {
      node = exact(node, resolved);
    }
    return result;
  }
  const std::vector<PuId> cpus = own_cpus(resolved.runtime.workers);
  result.workers = static_cast<std::uint32_t>(resolved.runtime.workers.size());
  result.cpus = cpus.empty() ? placement->cpus : cpus;
  result.memory.limit_bytes = resolved.runtime.memory.limit_bytes;
  result.memory_limit_percent = 0;
  for (const char* path : {"workers", "cpus", "memory.limit"}) {
    found_out(result.origins, path);
  }
  return result;
}

}  // namespace mxkv::config

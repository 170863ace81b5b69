// Reads hwloc's view of a machine into a Topology. The only file that includes hwloc.h.
//
// Decisions: a core group is split where NUMA nodes divide a shared cache (sub-NUMA clustering), since
// memory placement counts more than the cache; of several nodes that hold a PU (DRAM and HBM) the one
// with fewest PUs, then the first, is the PU's node; nodes keep their place even when no allowed PU is left.
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/topology/build.hpp"

namespace mxkv::runtime {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using HwlocBitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

// An operating-system index fits a StrongId, or the machine is too large for our numbers.
constexpr unsigned kMaxIndex = std::numeric_limits<PuId::rep>::max();

Error system_error(const std::string& what) {
  return Error{what + ": " + std::strerror(errno)};
}

Result<HwlocTopology> init() {
  hwloc_topology* raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return system_error("cannot start hwloc");
  }
  return HwlocTopology{raw};
}

// The identity of a core group: the cache (or, where none is known, the whole node) and the node.
const hwloc_obj* shared_cache(hwloc_obj* pu) {
  for (const hwloc_obj_type_t level : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE}) {
    for (const hwloc_obj* at = pu->parent; at != nullptr; at = at->parent) {
      if (at->type == level) {
        return at;
      }
    }
  }
  return nullptr;
}

const hwloc_obj* core_of(hwloc_obj* pu) {
  for (const hwloc_obj* at = pu->parent; at != nullptr; at = at->parent) {
    if (at->type == HWLOC_OBJ_CORE) {
      return at;
    }
  }
  return pu;  // a machine without cores in its description: each PU is its own
}

// NUMA nodes in hwloc's logical order, which is their position in Topology::nodes.
std::vector<hwloc_obj*> numa_objects(hwloc_topology* topology) {
  std::vector<hwloc_obj*> objects;
  for (hwloc_obj* at = nullptr;
       (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, at)) != nullptr;) {
    objects.push_back(at);
  }
  return objects;
}

std::optional<NumaNodeId> nearest_node(const std::vector<hwloc_obj*>& nodes, unsigned pu_os_index) {
  std::optional<NumaNodeId> best;
  int best_weight = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->cpuset == nullptr || hwloc_bitmap_isset(nodes[i]->cpuset, pu_os_index) == 0) {
      continue;
    }
    const int weight = hwloc_bitmap_weight(nodes[i]->cpuset);
    if (!best || weight < best_weight) {
      best = NumaNodeId{static_cast<NumaNodeId::rep>(i)};
      best_weight = weight;
    }
  }
  return best;
}

// The latency matrix that firmware reports, or the uniform one.
std::vector<std::uint32_t> read_distances(hwloc_topology* topology, const std::vector<hwloc_obj*>& nodes) {
  std::vector<std::uint32_t> matrix = uniform_distances(nodes.size());
  hwloc_distances_s* found = nullptr;
  unsigned count = 1;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0) {
    return matrix;
  }
  for (unsigned from = 0; from < found->nbobjs; ++from) {
    for (unsigned to = 0; to < found->nbobjs; ++to) {
      const std::size_t row = found->objs[from]->logical_index;
      const std::size_t column = found->objs[to]->logical_index;
      matrix[row * nodes.size() + column] =
          static_cast<std::uint32_t>(found->values[from * found->nbobjs + to]);
    }
  }
  hwloc_distances_release(topology, found);
  return matrix;
}

// The PUs that the calling thread may run on; nothing when the topology is not of this machine.
HwlocBitmap affinity_of_this_thread(hwloc_topology* topology) {
  if (hwloc_topology_is_thissystem(topology) == 0) {
    return nullptr;
  }
  HwlocBitmap set{hwloc_bitmap_alloc()};
  if (set == nullptr || hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_THREAD) != 0) {
    return nullptr;
  }
  return set;
}

Result<Topology> convert(hwloc_topology* topology) {
  Topology result;
  const std::vector<hwloc_obj*> numa = numa_objects(topology);
  if (numa.empty() || numa.size() > kMaxIndex) {
    return Error{"the machine reports " + std::to_string(numa.size()) + " NUMA nodes"};
  }
  for (std::size_t i = 0; i < numa.size(); ++i) {
    result.nodes.push_back(NumaNode{.node = NumaNodeId{static_cast<NumaNodeId::rep>(i)},
                                    .os_index = numa[i]->os_index,
                                    .memory_bytes = numa[i]->attr->numanode.local_memory,
                                    .pus = {}});
  }
  result.distances = read_distances(topology, numa);

  const HwlocBitmap allowed = affinity_of_this_thread(topology);
  std::map<std::pair<const hwloc_obj*, NumaNodeId>, CoreGroupId> groups;
  std::map<const hwloc_obj*, CoreId> cores;
  // In logical order, so that groups and cores are numbered as neighbours are.
  for (hwloc_obj* pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (allowed != nullptr && hwloc_bitmap_isset(allowed.get(), pu->os_index) == 0) {
      continue;
    }
    if (pu->os_index > kMaxIndex) {
      return Error{"CPU " + std::to_string(pu->os_index) + " is beyond the " + std::to_string(kMaxIndex) +
                   " that are supported"};
    }
    const PuId id{static_cast<PuId::rep>(pu->os_index)};
    const NumaNodeId node = nearest_node(numa, pu->os_index).value_or(NumaNodeId{0});
    const auto [group, new_group] = groups.try_emplace(
        {shared_cache(pu), node}, CoreGroupId{static_cast<CoreGroupId::rep>(groups.size())});
    if (new_group) {
      result.core_groups.push_back(CoreGroup{.group = group->second, .node = node, .pus = {}});
    }
    const CoreId core =
        cores.try_emplace(core_of(pu), CoreId{static_cast<CoreId::rep>(cores.size())}).first->second;
    result.pus.push_back(ProcessingUnit{.pu = id, .node = node, .group = group->second, .core = core});
    result.core_groups[group->second.index()].pus.push_back(id);
    result.nodes[node.index()].pus.push_back(id);
  }
  if (result.pus.empty()) {
    return Error{"the machine has no CPU that this process may use"};
  }
  std::ranges::sort(result.pus, {}, &ProcessingUnit::pu);
  for (CoreGroup& group : result.core_groups) {
    std::ranges::sort(group.pus);
  }
  for (NumaNode& node : result.nodes) {
    std::ranges::sort(node.pus);
  }
  return result;
}

Result<Topology> load_and_convert(hwloc_topology* topology, const std::string& what) {
  if (hwloc_topology_load(topology) != 0) {
    return system_error("cannot read the topology of " + what);
  }
  return convert(topology);
}

}  // namespace

Result<Topology> live_topology() {
  const Result<HwlocTopology> topology = init();
  return topology ? load_and_convert(topology.value().get(), "this machine") : topology.error();
}

Result<Topology> topology_from_xml(const std::filesystem::path& file) {
  const Result<HwlocTopology> topology = init();
  if (!topology) {
    return topology.error();
  }
  if (hwloc_topology_set_xml(topology.value().get(), file.c_str()) != 0) {
    return system_error("cannot read the topology of " + file.string());
  }
  return load_and_convert(topology.value().get(), file.string());
}

Result<Topology> topology_from_synthetic(const std::string& description) {
  const Result<HwlocTopology> topology = init();
  if (!topology) {
    return topology.error();
  }
  if (hwloc_topology_set_synthetic(topology.value().get(), description.c_str()) != 0) {
    return system_error("\"" + description + "\" is not a synthetic topology");
  }
  return load_and_convert(topology.value().get(), "\"" + description + "\"");
}

}  // namespace mxkv::runtime

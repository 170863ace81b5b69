// The machine as the runtime sees it: a plain value of PUs, core groups, NUMA nodes and distances.
//
// A value type, so that tests and the simulation can invent machines and so that nothing but the builders
// (build.hpp) knows hwloc. A core group is a set of PUs that share a cache (the L3, else the L2, else another
// one) and a NUMA node. It is the first neighbourhood of stealing and waking [LAS 4.3], the processor of [Mx
// 5.2]. It does not follow hot-plugged CPUs or changed cpusets: it is a snapshot of what the process was
// allowed to use when it was taken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

using CoreId = StrongId<struct CoreIdTag>;  ///< physical core, whose PUs are SMT siblings; from 0

/// One hardware thread that this process may run on.
struct ProcessingUnit {
  PuId pu;          ///< the operating system's index
  NumaNodeId node;  ///< the nearest node
  CoreGroupId group;
  CoreId core;
};

/// PUs that share a cache and a NUMA node.
struct CoreGroup {
  CoreGroupId group;  ///< equals its position in Topology::core_groups
  NumaNodeId node;
  std::vector<PuId> pus;  ///< ascending, never empty
};

/// A NUMA node. It may be without PUs: a memory tier, or CPUs that this process may not use.
struct NumaNode {
  NumaNodeId node;                 ///< equals its position in Topology::nodes
  std::uint32_t os_index = 0;      ///< its number for mbind, `numactl` and the configuration
  std::uint64_t memory_bytes = 0;  ///< 0: unknown
  std::vector<PuId> pus;           ///< ascending
};

/// A machine. Thread-safety: as a plain value; read by any thread once built.
struct Topology {
  std::vector<ProcessingUnit> pus;  ///< ascending by PuId, at least one
  std::vector<CoreGroup> core_groups;
  std::vector<NumaNode> nodes;           ///< at least one
  std::vector<std::uint32_t> distances;  ///< row by row, nodes x nodes, as firmware tells: 10 is local

  /// The PU of that operating-system index, or null where this process has no such PU.
  [[nodiscard]] const ProcessingUnit* find(PuId pu) const noexcept;
  /// The node of that operating-system index, or null.
  [[nodiscard]] const NumaNode* find_node(std::uint32_t os_index) const noexcept;
  /// Relative cost of PUs of `from` reaching memory of `to`. Both must be nodes of this topology.
  [[nodiscard]] std::uint32_t distance(NumaNodeId from, NumaNodeId to) const noexcept;
};

/// The distance that firmware reports for a node's own memory, and the one assumed for others when it reports
/// none.
inline constexpr std::uint32_t kLocalDistance = 10;
inline constexpr std::uint32_t kRemoteDistance = 20;

/// The matrix for machines that report none: kLocalDistance on the diagonal, kRemoteDistance elsewhere.
[[nodiscard]] std::vector<std::uint32_t> uniform_distances(std::size_t nodes);

}  // namespace mxkv::runtime

// Where a Topology comes from: the live machine, an XML file of hwloc, or a synthetic string of hwloc.
//
// The last two are for tests, the simulation and bug reports from machines that we do not have: PUs in
// them cannot be pinned to unless this machine has them too.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::runtime {

/// The machine that this process runs on. It has only PUs that both the cgroup's cpuset and the calling
/// thread's CPU affinity allow, so call it before pinning. It has all NUMA nodes with memory that may be
/// used. Errors: hwloc cannot read the machine. Thread-safety: startup only.
[[nodiscard]] Result<Topology> live_topology();

/// A machine saved with `lstopo --of xml FILE`, whole, with its distances.
/// Errors: the file is missing or no topology. Thread-safety: startup only.
[[nodiscard]] Result<Topology> topology_from_xml(const std::filesystem::path& file);

/// A machine described as in hwloc's "Synthetic topologies", such as
/// `Package:2 [NUMANode(memory=8GB)] L3Cache:1 Core:4 PU:2`. Distances are uniform (10 and 20).
/// Errors: the description is malformed. Thread-safety: startup only.
[[nodiscard]] Result<Topology> topology_from_synthetic(const std::string& description);

}  // namespace mxkv::runtime

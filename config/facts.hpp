// This process's share of the machine, as far as the topology does not state it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "runtime/base/result.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

struct MachineFacts {
  std::size_t memory_bytes = 0;        ///< of the whole machine
  std::size_t cgroup_limit_bytes = 0;  ///< the limit of this process's control groups; 0: no limit
  std::uint32_t cgroup_cpus = 0;       ///< CPUs' worth of time in those groups, rounded up; 0: no limit
};

/// The facts of this machine: /proc/meminfo and the limits of this process's control groups (version 2,
/// else 1) below `root`, the tightest of a group and its parents.
/// Errors: /proc/meminfo cannot be read. Thread-safety: startup only.
[[nodiscard]] runtime::Result<MachineFacts> read_machine_facts(const std::filesystem::path& root = "/");

/// The facts of a machine that is not this one: all of its nodes' memory, no control group.
[[nodiscard]] MachineFacts facts_of(const runtime::Topology& topology) noexcept;

/// If the nodes' memory adds up to less than the machine's, as the system may report for memory plugged in
/// later, divides the rest among the nodes in proportion. Does nothing if a node's memory is unknown.
void share_out_memory(runtime::Topology& topology, const MachineFacts& facts) noexcept;

/// The machine's memory or the control groups' limit, whichever is smaller.
[[nodiscard]] std::size_t available_memory(const MachineFacts& facts) noexcept;

/// `percent` of `bytes`, without overflow and exact.
[[nodiscard]] constexpr std::size_t part_of(std::size_t bytes, std::size_t percent) noexcept {
  return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/// The share of the available memory that is the limit by default: 3/4. The rest is for the system, sockets
/// and other processes.
[[nodiscard]] std::size_t default_memory_limit(const MachineFacts& facts) noexcept;

}  // namespace mxkv::config

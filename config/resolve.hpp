// Options as configured, against the machine there is: which workers on which CPUs, how much memory.
//
// Pure functions of their arguments, so that invented machines test them. Whether the CPUs can be pinned
// to and the memory be had is found out later, by those who try.
#pragma once

#include <cstddef>
#include <filesystem>

#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

/// What a topology does not tell.
struct MachineFacts {
  std::size_t memory_bytes = 0;        ///< of the whole machine
  std::size_t cgroup_limit_bytes = 0;  ///< what this process's control groups allow; 0: no limit
};

/// The facts of this machine: /proc/meminfo and the memory limits of this process's control groups
/// (version 2, else 1) below `root`, the tightest of a group and its parents.
/// Errors: /proc/meminfo cannot be read. Thread-safety: startup only.
[[nodiscard]] runtime::Result<MachineFacts> read_machine_facts(const std::filesystem::path& root = "/");

/// The share of the available memory that is taken when no limit is configured: 3/4. The rest is for
/// the system, sockets and other processes.
[[nodiscard]] std::size_t default_memory_limit(const MachineFacts& facts) noexcept;

/// Workers and memory of the runtime. Without `nodes`: one worker for each available CPU, or `workers` of
/// them spread over core groups first, then cores, then SMT siblings; more workers than CPUs share them,
/// and float unless `cpus` names some. The workers of a node get consecutive ids.
/// Errors: CPUs or nodes that the machine has not or this process may not use, and `nodes` together with
/// `workers`, `cpus` or (where nodes have shares) `memory.limit`. Thread-safety: any thread.
[[nodiscard]] runtime::Result<runtime::RuntimeOptions> resolve(const DaemonOptions& options,
                                                               const runtime::Topology& topology,
                                                               const MachineFacts& facts);

}  // namespace mxkv::config

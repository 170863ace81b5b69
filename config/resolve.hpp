// Compares options with the machine: the workers and their CPUs, and the memory.
//
// Pure functions of their arguments, so that tests can invent machines. Whether a CPU can be pinned to, or
// the memory is available, is known only when the runtime tries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/facts.hpp"
#include "config/findings.hpp"
#include "config/load.hpp"
#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

/// The used part of a NUMA node.
struct NodeShare {
  std::uint32_t os_index = 0;
  std::vector<runtime::PuId> cpus;  ///< of its pinned workers, in their order
  std::size_t workers = 0;
  std::size_t memory_bytes = 0;  ///< its share of the limit; 0: none of its own
};

/// The result of options on a machine.
struct Resolved {
  runtime::RuntimeOptions runtime;
  std::string topology;          ///< the name of the section of `topologies:` that fits; empty: none
  std::vector<NodeShare> nodes;  ///< the nodes with workers, in the machine's order
};

/// Workers and memory of the runtime. Without `nodes` there is one worker for each available CPU (or as many
/// as the control group's quota allows), or `workers` of them, spread over core groups first, then cores,
/// then SMT siblings. If there are more workers than CPUs, they share them, and float unless `cpus` names
/// some. Of `topologies` the first that fits is used. Findings, each at the place of the value: topologies of
/// which none fits; CPUs or nodes that the machine lacks, that this process may not use, or that are named
/// twice; more memory than a node has; and options that exclude each other. If there are findings, the result
/// must not be used. Thread-safety: any thread.
[[nodiscard]] Resolved resolve(const DaemonOptions& options, const runtime::Topology& topology,
                               const MachineFacts& facts, Findings& findings);

/// The same, or all findings as one error. Thread-safety: any thread.
[[nodiscard]] runtime::Result<Resolved> resolve(const DaemonOptions& options,
                                                const runtime::Topology& topology, const MachineFacts& facts);

/// The limit of a prefix in bytes, if memory.limit is `limit`; 0: none. Thread-safety: any thread.
[[nodiscard]] constexpr std::size_t prefix_memory(const PrefixOptions& prefix, std::size_t limit) noexcept {
  return prefix.memory_percent != 0 ? part_of(limit, prefix.memory_percent) : prefix.memory_bytes;
}

/// Adds findings for options that do not fit the machine; with mistakes in placement or memory it adds none.
/// Thread-safety: any thread.
Resolved add_misfits(Loaded& loaded, const runtime::Topology& topology, const MachineFacts& facts);

/// The options with the detected values written into them: they have the same result on this machine, and fit
/// no other. Thread-safety: any thread.
[[nodiscard]] DaemonOptions effective(const DaemonOptions& options, const Resolved& resolved);

}  // namespace mxkv::config

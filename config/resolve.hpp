// Options as configured, against the machine there is: which workers on which CPUs, how much memory.
//
// Pure functions of their arguments, so that invented machines test them. Whether the CPUs can be pinned
// to and the memory be had is found out later, by those who try.
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

/// The part of a NUMA node that is used.
struct NodeShare {
  std::uint32_t os_index = 0;
  std::vector<runtime::PuId> cpus;  ///< of its workers, in their order; floating ones are left out
  std::size_t workers = 0;
  std::size_t memory_bytes = 0;  ///< its share of the limit; 0: none of its own
};

/// What the options come to on a machine.
struct Resolved {
  runtime::RuntimeOptions runtime;
  std::string topology;          ///< name of the section of `topologies:` that fits; empty: there is none
  std::vector<NodeShare> nodes;  ///< those with workers, in the machine's order
};

/// Workers and memory of the runtime. Without `nodes`: one worker for each available CPU (or for each that
/// the control group's quota pays), or `workers` of them spread over core groups first, then cores, then SMT
/// siblings; more workers than CPUs share them, and float unless `cpus` names some. Of `topologies` the first
/// that fits is taken. Findings, each at the place of the value: topologies of which none fits; CPUs or nodes
/// that the machine has not, that this process may not use or that are named twice; more memory than a node
/// has; and what cannot be given together. With findings the result is not to be used.
/// Thread-safety: any thread.
[[nodiscard]] Resolved resolve(const DaemonOptions& options, const runtime::Topology& topology,
                               const MachineFacts& facts, Findings& findings);

/// The same, or all findings as one error. Thread-safety: any thread.
[[nodiscard]] runtime::Result<Resolved> resolve(const DaemonOptions& options,
                                                const runtime::Topology& topology, const MachineFacts& facts);

/// Adds to what is wrong with options what does not fit the machine, if they are right enough to tell: with
/// mistakes in placement or memory, nothing is added. Thread-safety: any thread.
Resolved add_misfits(Loaded& loaded, const runtime::Topology& topology, const MachineFacts& facts);

/// The options with what was found out written into them: they say the same on this machine, and for no
/// other. Thread-safety: any thread.
[[nodiscard]] DaemonOptions effective(const DaemonOptions& options, const Resolved& resolved);

}  // namespace mxkv::config

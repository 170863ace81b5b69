// A machine as text: a table for people, JSON for programs, and a configuration file for it.
#pragma once

#include <string>

#include "config/facts.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

/// Nodes with their memory, CPUs and shared caches, and the distances between them.
/// Thread-safety (all three): any thread.
[[nodiscard]] std::string topology_table(const runtime::Topology& topology, const MachineFacts& facts);

/// One object: memory_bytes, cgroup_memory_bytes and cgroup_cpus (null: no limit), nodes, core_groups, cpus,
/// and distances row by row.
[[nodiscard]] std::string topology_json(const runtime::Topology& topology, const MachineFacts& facts);

/// A file with one topology, which fits this machine: it states the workers, CPUs and memory that an empty
/// configuration leads to, node by node.
[[nodiscard]] std::string topology_yaml(const runtime::Topology& topology, const MachineFacts& facts);

}  // namespace mxkv::config

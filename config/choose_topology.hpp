// Chooses the entry of `topologies:` for this machine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "config/facts.hpp"
#include "config/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

/// The position of the first section that fits. None: `why` lists the condition of each section and this
/// machine's numbers.
/// Thread-safety: any thread.
[[nodiscard]] std::optional<std::size_t> choose_topology(std::span<const TopologySection> sections,
                                                         const runtime::Topology& topology,
                                                         const MachineFacts& facts, std::string& why);

}  // namespace mxkv::config

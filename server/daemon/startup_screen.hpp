// The first lines of the log: what the daemon runs, on which machine, and which settings may harm it.
#pragma once

#include <string>
#include <vector>

#include "config/resolve.hpp"
#include "server/daemon/host_state.hpp"

namespace mxkv::server {

/// One line a NUMA node with its workers, CPUs and memory, and one with the whole memory. Thread-safety
/// (all): any thread.
[[nodiscard]] std::vector<std::string> placement_lines(const config::Resolved& resolved);

/// Lines about the machine, the placement, and a full memory.
[[nodiscard]] std::vector<std::string> startup_screen(const config::DaemonOptions& options,
                                                      const runtime::Topology& topology,
                                                      const config::MachineFacts& facts,
                                                      const config::Resolved& resolved);

/// Most descriptors of connections, listeners and workers together.
[[nodiscard]] std::size_t descriptors_needed(const config::DaemonOptions& options, std::size_t workers);

/// Warnings about settings of the machine that cost speed, connections or the process's life, each with
/// advice.
[[nodiscard]] std::vector<std::string> startup_warnings(const config::DaemonOptions& options,
                                                        const runtime::Topology& topology,
                                                        const config::MachineFacts& facts,
                                                        const config::Resolved& resolved,
                                                        const HostState& host);

}  // namespace mxkv::server

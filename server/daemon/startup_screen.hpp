// The first screen of the log: what was started, on what, and what will hurt.
#pragma once

#include <string>
#include <vector>

#include "config/resolve.hpp"
#include "server/daemon/host_state.hpp"

namespace mxkv::server {

/// A line a NUMA node with its workers, CPUs and memory, and one with the memory of all.
/// Thread-safety (all): any thread.
[[nodiscard]] std::vector<std::string> placement_lines(const config::Resolved& resolved);

/// Machine, placement, what happens when memory is full.
[[nodiscard]] std::vector<std::string> startup_screen(const config::DaemonOptions& options,
                                                      const runtime::Topology& topology,
                                                      const config::MachineFacts& facts,
                                                      const config::Resolved& resolved);

/// Descriptors that connections, listeners and workers may have open together.
[[nodiscard]] std::size_t descriptors_needed(const config::DaemonOptions& options, std::size_t workers);

/// What the machine is set to that costs speed, connections or the process's life; each says what to do.
[[nodiscard]] std::vector<std::string> startup_warnings(const config::DaemonOptions& options,
                                                        const runtime::Topology& topology,
                                                        const config::MachineFacts& facts,
                                                        const config::Resolved& resolved,
                                                        const HostState& host);

}  // namespace mxkv::server

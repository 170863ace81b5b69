// Names of CPUs and nodes in errors.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

/// Thread-safety (all): any thread.
[[nodiscard]] std::vector<runtime::PuId> all_cpus(const runtime::Topology& topology);

/// "0, 1": the system's numbers.
[[nodiscard]] std::string available_nodes(const runtime::Topology& topology);

/// "CPU 3" or "CPUs 3-5".
[[nodiscard]] std::string name_of(const std::vector<runtime::PuId>& cpus);

}  // namespace mxkv::config

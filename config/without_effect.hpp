// Finds switches that are set, but have no effect because of other options.
#pragma once

#include <cstddef>

#include "config/findings.hpp"
#include "config/options.hpp"

namespace mxkv::config {

/// Each finding at its place, with the reason, in the order of the file. A switch with its default value is
/// never reported.
/// `workers` is the number of workers, `nodes` the number of NUMA nodes with workers; 0: unknown.
/// Thread-safety: any thread.
[[nodiscard]] Findings switches_without_effect(const DaemonOptions& options, std::size_t workers,
                                               std::size_t nodes = 0);

}  // namespace mxkv::config

// Switches that are set and change nothing, because of what the others are.
#pragma once

#include <cstddef>

#include "config/findings.hpp"
#include "config/options.hpp"

namespace mxkv::config {

/// Each at its place, with the reason, in the order of the file. What has its default is not told, set or not.
/// `workers` is how many there will be, `nodes` how many NUMA nodes have some; 0: unknown. Thread-safety: any thread.
[[nodiscard]] Findings switches_without_effect(const DaemonOptions& options, std::size_t workers,
                                               std::size_t nodes = 0);

}  // namespace mxkv::config

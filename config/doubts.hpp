// Finds options that are allowed, but hardly intended.
#pragma once

#include <string>

#include "config/facts.hpp"
#include "config/findings.hpp"
#include "config/options.hpp"
#include "config/resolve.hpp"

namespace mxkv::config {

/// Says that workers share CPUs; empty: each has its own. Thread-safety: any thread.
[[nodiscard]] std::string crowd_of_workers(const Resolved& resolved);

/// Finds more workers than CPUs, a memory limit above the machine's memory, and switches without effect. Each at the place of the
/// value. Thread-safety: any thread.
[[nodiscard]] Findings doubts(const DaemonOptions& options, const Resolved& resolved,
                              const MachineFacts& facts);

}  // namespace mxkv::config

// What is allowed, and yet hardly what was meant.
#pragma once

#include "config/facts.hpp"
#include "config/findings.hpp"
#include "config/options.hpp"
#include "config/resolve.hpp"

namespace mxkv::config {

/// A memory limit that is more than the machine has, and switches without effect. Each at the place of the
/// value. Thread-safety: any thread.
[[nodiscard]] Findings doubts(const DaemonOptions& options, const Resolved& resolved,
                              const MachineFacts& facts);

}  // namespace mxkv::config

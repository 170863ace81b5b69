// The settings of a run for its result file, by the names of flags and properties.
#pragma once

#include <string>

#include "bench/client/options.hpp"
#include "bench/report/run_result.hpp"

namespace mxkv::bench {

/// `command`: the command line. Thread-safety: any thread.
ClientFacts describe(const Options& options, const std::string& command);

}  // namespace mxkv::bench

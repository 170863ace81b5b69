// The machine this process runs on, for a result.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"

namespace mxkv::bench {

/// Unknown properties stay empty or 0. Thread-safety: any thread.
Machine this_machine();

/// The words of a command line, quoted so that a shell would read them back.
std::string quoted_command(int argc, const char* const* argv);

}  // namespace mxkv::bench

// The machine this process runs on, as a result has to say it.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"

namespace mxkv::bench {

/// What cannot be found out stays empty or 0. Thread-safety: any thread.
Machine this_machine();

/// The words of a command line so that a shell would read them back.
std::string quoted_command(int argc, const char* const* argv);

}  // namespace mxkv::bench

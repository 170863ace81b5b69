// The program: global options, one command or the shell, exit codes.
#pragma once

namespace mxkv::cli {

/// Returns the exit code (failure.hpp). Main thread.
int run_program(int count, const char* const* arguments);

}  // namespace mxkv::cli

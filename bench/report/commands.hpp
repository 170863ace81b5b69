// The command that needs no server: `merge` puts results together.
#pragma once

#include <optional>

namespace mxkv::bench {

/// Runs `merge` if that is the first argument, and gives the exit code: 0, 1 if a file is no result or cannot
/// be written, 2 for wrong usage, such as the `plot` that once was here.
std::optional<int> run_report_command(int argc, const char* const* argv);

}  // namespace mxkv::bench

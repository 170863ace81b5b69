// The commands that need no server: `merge` puts results together, `plot` draws them.
#pragma once

#include <optional>

namespace mxkv::bench {

/// Runs `merge` or `plot` if the first argument is one of them, and gives the exit code: 0, 1 if a file is no
/// result or cannot be written, 2 for wrong usage.
std::optional<int> run_report_command(int argc, const char* const* argv);

}  // namespace mxkv::bench

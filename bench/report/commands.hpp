// The command that needs no server: `merge` combines results.
#pragma once

#include <optional>

namespace mxkv::bench {

/// Runs `merge` if that is the first argument. Returns the exit code: 0, 1 if a file is no result or cannot
/// be written, 2 for wrong usage, such as the removed command `plot`.
std::optional<int> run_report_command(int argc, const char* const* argv);

}  // namespace mxkv::bench

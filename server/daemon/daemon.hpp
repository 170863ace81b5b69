// The daemon: puts runtime, store and network together, runs them until it is told to end, and ends them in
// order.
#pragma once

#include "config/options.hpp"

namespace mxkv::server {

/// Exit codes of the process.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;        ///< the system refused something, such as a port in use
inline constexpr int kExitWrongOptions = 2;  ///< nothing was started

/// Runs the daemon until SIGTERM or SIGINT. Returns the exit code; what went wrong is on standard error, one
/// line. Thread-safety: the main thread, before any other was started.
[[nodiscard]] int run_daemon(const config::DaemonOptions& options);

/// Says why nothing was started, or why it ended, on standard error, a line a reason. Returns `code`.
int complain(int code, const char* message);

}  // namespace mxkv::server

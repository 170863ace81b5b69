// The daemon: builds runtime, store and network, runs them until the process is asked to end, and ends them
// in order.
#pragma once

#include <functional>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/daemon/activation.hpp"
#include "server/daemon/background.hpp"

namespace mxkv::server {

/// Exit codes of the process.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;        ///< the system refused a resource, such as a port in use
inline constexpr int kExitWrongOptions = 2;  ///< nothing was started
inline constexpr int kExitDisk = 70;         ///< the journal's disk failed, and durability.on_failure is exit

/// Reads flags and file again. Errors: as at the start, a line each.
using Reread = std::function<runtime::Result<config::DaemonOptions>()>;

/// The state of the process at its start.
struct Start {
  std::vector<PassedSocket> passed;  ///< listening sockets to use instead of the options'
  Background background;
  Reread reread;
  long process = 0;              ///< its process id before it went into the background
  bool only_checkpoint = false;  ///< recovers, writes a checkpoint and ends, without serving clients
};

/// Runs the daemon until the process is asked to end. Returns the exit code; errors are on standard error.
/// Thread-safety: the main thread, before any other was started.
[[nodiscard]] int run_daemon(const config::DaemonOptions& options, Start& start);

/// Writes to standard error why nothing was started, or why the daemon ended, a line a reason. Returns
/// `code`.
int complain(int code, const char* message);

}  // namespace mxkv::server

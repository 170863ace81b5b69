// Which options a reload may change while the daemon runs, and which differ from the running ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"

namespace mxkv::server {

/// A key whose value differs.
struct Change {
  std::string path;
  std::string before;
  std::string after;
};

/// Whether a running daemon takes a new value of the key.
[[nodiscard]] bool changes_while_running(std::string_view path);

/// In the order of the example file. Thread-safety: any thread.
[[nodiscard]] std::vector<Change> changes(const config::DaemonOptions& running,
                                          const config::DaemonOptions& wanted);

}  // namespace mxkv::server

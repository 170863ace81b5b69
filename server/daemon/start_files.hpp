// Files that the options name and that are to be there when the daemon starts.
#pragma once

#include <optional>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "server/net/credentials.hpp"

namespace mxkv::server {

/// The users of `server.auth_file`, if there is one. Findings: that file when it cannot be read or is wrong,
/// and the folder of `log.file` when it is not there. Each at the place of the value. Thread-safety: startup
/// only.
[[nodiscard]] std::optional<Users> read_start_files(const config::DaemonOptions& options,
                                                    config::Findings& findings);

}  // namespace mxkv::server

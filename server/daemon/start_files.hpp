// Files that the options name and that are to be there when the daemon starts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "config/users.hpp"
#include "server/net/tls_context.hpp"

namespace mxkv::server {

/// The users of `server.auth_file`, if there is one. Findings: that file when it cannot be read or is wrong,
/// and the folder of `log.file` when it is not there. Each at the place of the value. Thread-safety: startup
/// only.
[[nodiscard]] std::optional<config::UsersFile> read_start_files(const config::DaemonOptions& options,
                                                                config::Findings& findings);

/// "1 user", "2 users".
[[nodiscard]] inline std::string count_of_users(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " user" : " users");
}

/// What listeners speak TLS by, for each of `listeners`, which are those of the options at `path`; null where one speaks
/// none, or there are findings: files that cannot be read or are wrong, at the place of the value. `doubts`: what else a
/// person should know. Thread-safety: any thread.
[[nodiscard]] std::vector<std::shared_ptr<const TlsContext>> read_certificates(
    const config::DaemonOptions& options, const std::vector<config::ListenAddress>& listeners,
    const std::string& path, config::Findings& findings, config::Findings& doubts);

/// All that a daemon begins with.
struct StartCertificates {
  std::vector<std::shared_ptr<const TlsContext>> listeners;
  std::vector<std::shared_ptr<const TlsContext>> admin;
  std::shared_ptr<const TlsContext> nodes;  ///< of the cluster, among each other
};
[[nodiscard]] StartCertificates read_certificates(const config::DaemonOptions& options,
                                                  config::Findings& findings, config::Findings& doubts);

}  // namespace mxkv::server

// Reads files that the options name, and that have to exist when the daemon starts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "config/users.hpp"
#include "server/net/tls/tls_context.hpp"

namespace mxkv::server {

/// The users of `server.auth_file`, if there is one. Findings, each at the place of the option: that file is
/// unreadable or invalid, the folder of `log.file` does not exist, or this program lacks a part that the options
/// ask for. Thread-safety: startup only.
[[nodiscard]] std::optional<config::UsersFile> read_start_files(const config::DaemonOptions& options,
                                                                config::Findings& findings);

/// Doubts about folders that a start needs and does not create: of `durability.directory` and `server.pid_file`.
/// Thread-safety: any thread.
void look_at_paths(const config::DaemonOptions& options, config::Findings& doubts);

/// "1 user", "2 users".
[[nodiscard]] inline std::string count_of_users(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " user" : " users");
}

/// Reads the certificates of `listeners`, which are the options' at `path`. Null for a listener without TLS,
/// or if there are findings: unreadable or invalid files, at the place of the option. `doubts`: warnings for
/// the operator. Thread-safety: any thread.
[[nodiscard]] std::vector<std::shared_ptr<const TlsContext>> read_certificates(
    const config::DaemonOptions& options, const std::vector<config::ListenAddress>& listeners,
    const std::string& path, config::Findings& findings, config::Findings& doubts);

/// All certificates of a start.
struct StartCertificates {
  std::vector<std::shared_ptr<const TlsContext>> listeners;
  std::vector<std::shared_ptr<const TlsContext>> admin;
  std::shared_ptr<const TlsContext> nodes;  ///< for connections between the cluster's nodes
};
[[nodiscard]] StartCertificates read_certificates(const config::DaemonOptions& options,
                                                  config::Findings& findings, config::Findings& doubts);

}  // namespace mxkv::server

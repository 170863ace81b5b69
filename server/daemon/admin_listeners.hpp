// The listeners of administration: opened at the start, and changed while the daemon runs.
//
// A change first prepares everything: it opens sockets and reads certificates before any listener closes. So
// if one of them is not available, nothing changes.
#pragma once

#include <string>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/admin/http_server.hpp"
#include "server/daemon/log.hpp"

namespace mxkv::server {

/// Opens the listeners of `addresses`, and logs them. `tls`: by listener. Errors: "admin: listen on ADDRESS:
/// why". Thread-safety: startup only.
[[nodiscard]] runtime::Result<std::vector<ListenSocket>> open_admin_sockets(
    const std::vector<config::ListenAddress>& addresses,
    const std::vector<std::shared_ptr<const TlsContext>>& tls, Log& log);

/// Prepares the change from the listeners `running` to `wanted`: listeners at the same address are kept.
/// Findings: addresses and files that are not available; then nothing stays open. Logs the sockets it opens.
/// Thread-safety: the main thread.
[[nodiscard]] std::vector<HttpListener> prepare_admin(const std::vector<config::ListenAddress>& running,
                                                      const config::DaemonOptions& wanted, Log& log,
                                                      config::Findings& findings);

/// ", TLS with the certificate ..": how the listener speaks TLS; empty: it does not. Any thread.
[[nodiscard]] std::string text_of_tls(const config::ListenAddress& address, const TlsContext* tls);

}  // namespace mxkv::server

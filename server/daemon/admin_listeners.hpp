// The listeners of administration: opened at the start, and made others while the daemon runs.
//
// What a change needs is got ready first: sockets are open and certificates read before any listener goes. So one that
// cannot be had leaves all as it was.
#pragma once

#include <string>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/admin/http_server.hpp"
#include "server/daemon/log.hpp"

namespace mxkv::server {

/// Opens those of the options, and tells where they are. `tls`: by listener. Errors: "admin: listen on ADDRESS: why".
/// Thread-safety: startup only.
[[nodiscard]] runtime::Result<std::vector<ListenSocket>> open_admin_sockets(
    const std::vector<config::ListenAddress>& addresses,
    const std::vector<std::shared_ptr<const TlsContext>>& tls, Log& log);

/// What makes listeners that are as `running` says into those that `wanted` says: places that stay are kept. Findings:
/// places and files that cannot be had; then nothing is open. Tells what is opened. Thread-safety: the main thread.
[[nodiscard]] std::vector<HttpListener> prepare_admin(const std::vector<config::ListenAddress>& running,
                                                      const config::DaemonOptions& wanted, Log& log,
                                                      config::Findings& findings);

/// ", TLS with the certificate ..": how a listener speaks it; empty: it speaks none. Any thread.
[[nodiscard]] std::string text_of_tls(const config::ListenAddress& address, const TlsContext* tls);

}  // namespace mxkv::server

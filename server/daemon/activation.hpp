// Listening sockets that systemd, or another process, passed in, as sd_listen_fds(3) documents it: LISTEN_FDS
// of them from descriptor 3 on, for the process LISTEN_PID.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/net/listen_socket.hpp"

namespace mxkv::server {

/// One of them.
struct PassedSocket {
  ListenSocket socket;
  std::string name;  ///< from LISTEN_FDNAMES; may be empty
};

/// Those that are meant for this process; empty: none were passed. Takes the variables out of the
/// environment. Errors: LISTEN_FDS is no number, or a descriptor is no stream socket that listens.
/// Thread-safety: start-up only, before anything else opened a descriptor.
[[nodiscard]] runtime::Result<std::vector<PassedSocket>> take_passed_sockets();

}  // namespace mxkv::server

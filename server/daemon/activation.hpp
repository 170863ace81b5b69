// Listening sockets passed in by systemd, or another process, as sd_listen_fds(3) documents it: LISTEN_FDS
// sockets from descriptor 3 on, for the process LISTEN_PID.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/net/sockets/listen_socket.hpp"

namespace mxkv::server {

/// One socket that was passed in.
struct PassedSocket {
  ListenSocket socket;
  std::string name;  ///< from LISTEN_FDNAMES; may be empty
};

/// The sockets for this process; empty: none were passed. Removes the variables from the environment. Errors:
/// LISTEN_FDS is not a number, or a descriptor is not a listening stream socket. Thread-safety: start-up
/// only, before anything else opens a descriptor.
[[nodiscard]] runtime::Result<std::vector<PassedSocket>> take_passed_sockets();

}  // namespace mxkv::server

// Listening sockets that systemd, or another process, passed in, as sd_listen_fds(3) documents it: LISTEN_FDS
// of them from descriptor 3 on, for the process LISTEN_PID.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// One of them.
struct PassedSocket {
  int descriptor = -1;
  std::string name;  ///< from LISTEN_FDNAMES; may be empty
};

/// Those that are meant for this process; empty: none were passed. Takes the variables out of the
/// environment. Errors: LISTEN_FDS is no number. Thread-safety: start-up only.
[[nodiscard]] runtime::Result<std::vector<PassedSocket>> take_passed_sockets();

}  // namespace mxkv::server

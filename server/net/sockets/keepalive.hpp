// TCP keepalive. It finds connections that never end because the client's machine, or the path to it, is
// gone.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// After `silent_ms` without a byte the system sends a probe, and then three more, each a tenth of that time
/// (1 to 30 s) after the one before. Without an answer the connection breaks. 0: no probes. Does nothing on a
/// unix socket. Thread-safety: as the socket.
void set_keepalive(int socket, std::uint32_t silent_ms) noexcept;

}  // namespace mxkv::server

// TCP's own question whether the other side is still there. It finds connections that do not end, because the
// client's machine or the path to it is gone.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// After `silent_ms` without a byte the system asks, four times, a tenth of that apart (1 to 30 s); without
/// an answer the connection breaks. 0: it never asks. A unix socket is left as it is. Thread-safety: that of
/// the socket.
void set_keepalive(int socket, std::uint32_t silent_ms) noexcept;

}  // namespace mxkv::server

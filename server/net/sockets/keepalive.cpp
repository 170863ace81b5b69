#include "server/net/sockets/keepalive.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace mxkv::server {

void set_keepalive(int socket, std::uint32_t silent_ms) noexcept {
  const int on = silent_ms != 0 ? 1 : 0;
  if (on != 0) {
    const auto set = [socket](int option, std::uint32_t value) {
      const int as_int = static_cast<int>(value);
      ::setsockopt(socket, IPPROTO_TCP, option, &as_int, sizeof as_int);
    };
    const std::uint32_t silent_s = std::max(silent_ms / 1000, 1U);
    set(TCP_KEEPIDLE, silent_s);
    set(TCP_KEEPINTVL, std::clamp(silent_s / 10, 1U, 30U));
    set(TCP_KEEPCNT, 4);
  }
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

}  // namespace mxkv::server

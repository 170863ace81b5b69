// Addresses of other nodes: `host:port`, as in the map and between nodes, and in the form that a socket
// needs.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

struct PeerAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

/// Parses a numeric address: 10.0.0.1:11311 or [::1]:11311. None: it is not numeric, as a rule a name.
[[nodiscard]] std::optional<PeerAddress> numeric_address(std::string_view text);
/// Looks up a name, which may take long. None: the name is unknown. Any thread.
[[nodiscard]] std::optional<PeerAddress> looked_up(const std::string& text);

}  // namespace mxkv::server

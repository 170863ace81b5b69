// Addresses of other nodes: `host:port`, as it is told between nodes and in the map, and what a socket needs.
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

/// Of an address in numbers: 10.0.0.1:11311 or [::1]:11311. None: it is something else, a name as a rule.
[[nodiscard]] std::optional<PeerAddress> numeric_address(std::string_view text);
/// The same of a name, which is looked up, and may take long. None: nobody knows it. Any thread.
[[nodiscard]] std::optional<PeerAddress> looked_up(const std::string& text);

}  // namespace mxkv::server

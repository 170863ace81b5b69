#include "server/net/peers/peer_address.hpp"

#include <netdb.h>

#include <cstring>

namespace mxkv::server {

namespace {

// The port is behind the last colon. An IPv6 address is in brackets.
std::optional<PeerAddress> resolve(std::string_view text, int flags) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string name{host};
  const std::string port{text.substr(colon + 1)};
  if (::getaddrinfo(name.c_str(), port.c_str(), &hints, &found) != 0) {
    return std::nullopt;
  }
  PeerAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

}  // namespace

std::optional<PeerAddress> numeric_address(std::string_view text) {
  return resolve(text, AI_NUMERICHOST);
}

std::optional<PeerAddress> looked_up(const std::string& text) {
  return resolve(text, AI_ADDRCONFIG);
}

}  // namespace mxkv::server

#include "server/net/observe/connection_facts.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

#include "server/store/watch/uri_key.hpp"

namespace mxkv::server {

namespace {

using AddressOf = int (*)(int, sockaddr*, socklen_t*);

std::string address_text(int socket, AddressOf address_of) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (address_of(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) {
    return "unknown";  // the client is gone, and the connection is not closed yet
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &storage, sizeof in);
    inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    return std::string{"tcp:"} + text.data() + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof in);
    inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
    return std::string{"tcp6:["} + text.data() + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  sockaddr_un in{};
  std::memcpy(&in, &storage, sizeof in);
  const std::size_t length =
      bytes > offsetof(sockaddr_un, sun_path) ? bytes - offsetof(sockaddr_un, sun_path) : 0;
  return "unix:" + socket_path_text({in.sun_path, strnlen(in.sun_path, length)});
}

}  // namespace

std::string socket_path_text(std::string_view path) {
  std::string text(3 * path.size(), '\0');
  char* end = text.data();
  for (const char& byte : path) {
    if (byte == '/') {
      *end++ = byte;
    } else {
      end = write_in_uri(end, {&byte, 1});
    }
  }
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

std::string client_of(const std::string& peer) {
  constexpr std::string_view kFour = "tcp:";
  constexpr std::string_view kSix = "tcp6:[";
  if (peer.starts_with(kFour)) {
    return peer.substr(kFour.size(), peer.rfind(':') - kFour.size());
  }
  if (!peer.starts_with(kSix)) {
    return {};
  }
  const std::string text = peer.substr(kSix.size(), peer.rfind(']') - kSix.size());
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    return {};
  }
  constexpr std::size_t kNetworkBytes = 8;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return text.substr(text.rfind(':') + 1);
  }
  std::memset(address.s6_addr + kNetworkBytes, 0, sizeof address - kNetworkBytes);
  std::array<char, INET6_ADDRSTRLEN> network{};
  inet_ntop(AF_INET6, &address, network.data(), network.size());
  return std::string{network.data()} + "/64";
}

namespace {

/// An address and a port. An IPv4 address is stored as a mapped IPv6 address. Port 0: any.
struct ClientAddress {
  in6_addr address{};
  std::uint16_t port = 0;
};

std::optional<in6_addr> parse_client_ip(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1 ||
      inet_pton(AF_INET6, ("::ffff:" + text).c_str(), &address) == 1) {
    return address;
  }
  return std::nullopt;
}

/// ADDRESS, [ADDRESS], or either with :PORT behind it. An IPv6 address with a port needs the brackets.
std::optional<ClientAddress> parse_client(std::string_view text) {
  const bool in_brackets = text.starts_with('[');
  const std::size_t close = in_brackets ? text.find(']') : std::string_view::npos;
  if (in_brackets && close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = in_brackets ? text.substr(1, close - 1) : text;
  std::string_view port = in_brackets ? text.substr(close + 1) : std::string_view{};
  if (const std::size_t colon = text.find(':');
      !in_brackets && colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  ClientAddress peer;
  if (!port.empty()) {
    const auto [end, failed] = std::from_chars(port.data() + 1, port.data() + port.size(), peer.port);
    if (port.front() != ':' || failed != std::errc{} || end != port.data() + port.size() || peer.port == 0) {
      return std::nullopt;
    }
  }
  const std::optional<in6_addr> address = parse_client_ip(std::string{host});
  if (!address) {
    return std::nullopt;
  }
  peer.address = *address;
  return peer;
}

std::string_view without_kind(std::string_view text) {
  for (const std::string_view kind : {"tcp6:", "tcp:"}) {
    if (text.starts_with(kind)) {
      return text.substr(kind.size());
    }
  }
  return text;
}

}  // namespace

bool is_peer(const std::string& peer, std::string_view which) {
  if (peer == which || client_of(peer) == which) {
    return true;
  }
  const std::optional<ClientAddress> wanted = parse_client(without_kind(which));
  const std::optional<ClientAddress> found = wanted ? parse_client(without_kind(peer)) : std::nullopt;
  return found && IN6_ARE_ADDR_EQUAL(&found->address, &wanted->address) &&
         (wanted->port == 0 || wanted->port == found->port);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 64;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      result.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xfU]);
    } else {
      result += c;
    }
  }
  return result + (text.size() > kMost ? "...\"" : "\"");
}

ConnectionFacts facts_of_socket(int socket) {
  ConnectionFacts facts;
  facts.descriptor = socket;
  facts.peer = address_text(socket, &getpeername);
  facts.own = address_text(socket, &getsockname);
  return facts;
}

}  // namespace mxkv::server

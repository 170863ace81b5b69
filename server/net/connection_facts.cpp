#include "server/net/connection_facts.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace mxkv::server {

namespace {

using AddressOf = int (*)(int, sockaddr*, socklen_t*);

std::string address_text(int socket, AddressOf address_of) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (address_of(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) {
    return "unknown";  // the client is gone, and the connection not yet closed
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
  return "unix:" + std::string{in.sun_path, strnlen(in.sun_path, length)};
}

}  // namespace

ConnectionFacts facts_of_socket(int socket) {
  ConnectionFacts facts;
  facts.descriptor = socket;
  facts.peer = address_text(socket, &getpeername);
  facts.own = address_text(socket, &getsockname);
  return facts;
}

}  // namespace mxkv::server

#include "bench/client/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

namespace mxkv::bench {
namespace {

Socket::Transfer outcome_of(ssize_t result) noexcept {
  if (result > 0) {
    return {Socket::Status::moved, static_cast<std::size_t>(result)};
  }
  const bool again = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {again ? Socket::Status::would_block : Socket::Status::closed};
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Socket::Transfer Socket::send(const char* data, std::size_t bytes) const noexcept {
  return outcome_of(::send(descriptor_, data, bytes, MSG_NOSIGNAL));
}

Socket::Transfer Socket::receive(char* data, std::size_t bytes) const noexcept {
  return outcome_of(::recv(descriptor_, data, bytes, 0));
}

runtime::Result<Endpoint> parse_endpoint(const std::string& text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    const std::string path = text.substr(kUnix.size());
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
      return runtime::Error{"'" + text + "' has no path, or one of more than " +
                            std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes"};
    }
    return Endpoint{.host = "", .port = "", .path = path};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return runtime::Error{"'" + text + "' is neither HOST:PORT nor unix:PATH"};
  }
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return Endpoint{.host = host, .port = text.substr(colon + 1), .path = {}};
}

std::string text_of(const Endpoint& endpoint) {
  return endpoint.path.empty() ? endpoint.host + ":" + endpoint.port : "unix:" + endpoint.path;
}

namespace {

runtime::Error cannot_connect(const Endpoint& endpoint, int error) {
  return {"cannot connect to " + text_of(endpoint) + ": " + std::generic_category().message(error)};
}

runtime::Result<Socket> connect_to_path(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  endpoint.path.copy(address.sun_path, sizeof address.sun_path - 1);
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0 ||
      ::connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return cannot_connect(endpoint, errno);
  }
  ::fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
  return socket;
}

}  // namespace

runtime::Result<Socket> connect_to(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) {
    return connect_to_path(endpoint);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
      failed != 0) {
    return runtime::Error{text_of(endpoint) + ": " + ::gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket.descriptor() < 0 || ::connect(socket.descriptor(), at->ai_addr, at->ai_addrlen) != 0) {
      error = errno;
      continue;
    }
    const int on = 1;
    ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
    return socket;
  }
  return cannot_connect(endpoint, error);
}

}  // namespace mxkv::bench

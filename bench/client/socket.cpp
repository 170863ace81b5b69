#include "bench/client/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
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
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return runtime::Error{"'" + text + "' is no HOST:PORT"};
  }
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return Endpoint{host, text.substr(colon + 1)};
}

runtime::Result<Socket> connect_to(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
      failed != 0) {
    return runtime::Error{endpoint.host + ":" + endpoint.port + ": " + ::gai_strerror(failed)};
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
  return runtime::Error{"cannot connect to " + endpoint.host + ":" + endpoint.port + ": " +
                        std::generic_category().message(error)};
}

}  // namespace mxkv::bench

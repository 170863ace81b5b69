#include "bench/client/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/host_port.hpp"

namespace mxkv::bench {
namespace {

constexpr int kPatienceS = 10;  // for a handshake, and for the reply to a login

Socket::Transfer outcome_of(ssize_t result) noexcept {
  if (result > 0) {
    return {Socket::Status::moved, static_cast<std::size_t>(result)};
  }
  const bool again = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {again ? Socket::Status::would_block : Socket::Status::closed};
}

Socket::Transfer outcome_of_tls(long result) noexcept {
  if (result > 0) {
    return {Socket::Status::moved, static_cast<std::size_t>(result)};
  }
  return {result == -1 ? Socket::Status::would_block : Socket::Status::closed};
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Socket::Socket(int descriptor) noexcept : descriptor_(descriptor) {}

Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(tls_, other.tls_);
  return *this;
}

void Socket::use(std::unique_ptr<TlsLink> tls) noexcept {
  tls_ = std::move(tls);
}

bool Socket::has_more() const noexcept {
  return tls_ != nullptr && tls_->has_more();
}

Socket::Transfer Socket::send(const char* data, std::size_t bytes) const noexcept {
  if (tls_ != nullptr) {
    return outcome_of_tls(tls_->send(data, bytes));
  }
  return outcome_of(::send(descriptor_, data, bytes, MSG_NOSIGNAL));
}

Socket::Transfer Socket::receive(char* data, std::size_t bytes) const noexcept {
  if (tls_ != nullptr) {
    return outcome_of_tls(tls_->receive(data, bytes));
  }
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
    Endpoint endpoint;
    endpoint.path = path;
    return endpoint;
  }
  runtime::Result<runtime::HostPort> place = runtime::parse_host_port(text, 0);
  if (!place) {
    return runtime::Error{place.error().message + "; or unix:PATH"};
  }
  Endpoint endpoint;
  endpoint.host = std::move(place.value().host);
  endpoint.port = place.value().port;
  return endpoint;
}

std::string text_of(const Endpoint& endpoint) {
  return endpoint.path.empty() ? runtime::text_of({.host = endpoint.host, .port = endpoint.port})
                               : "unix:" + endpoint.path;
}

namespace {

runtime::Error cannot_connect(const Endpoint& endpoint, int error) {
  return {"cannot connect to " + text_of(endpoint) + ": " + std::generic_category().message(error)};
}

/// The server's answer to a line and a block; empty if it closed, or did not answer in time.
std::string answer_of(const Socket& socket, std::string_view request) {
  if (socket.send(request.data(), request.size()).bytes != request.size()) {
    return {};
  }
  std::string line;
  for (char byte = 0; byte != '\n' && socket.receive(&byte, 1).status == Socket::Status::moved;) {
    line += byte;
  }
  return line.substr(0, line.find_first_of("\r\n"));
}

/// Does the handshake and login if the endpoint needs them, then makes the socket non-blocking.
runtime::Result<Socket> introduced(Socket socket, const Endpoint& endpoint) {
  const timeval patience{kPatienceS, 0};
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (endpoint.tls != nullptr) {
    auto link = TlsLink::open(endpoint.tls, socket.descriptor(), endpoint.host);
    if (!link) {
      return runtime::Error{"TLS with " + text_of(endpoint) + ": " + link.error().message};
    }
    socket.use(std::move(link).value());
  }
  if (!endpoint.user.empty()) {
    const std::string block = endpoint.user + " " + endpoint.password;
    const std::string answer =
        answer_of(socket, "set login 0 0 " + std::to_string(block.size()) + "\r\n" + block + "\r\n");
    if (answer != "STORED") {
      return runtime::Error{"login at " + text_of(endpoint) + " as " + endpoint.user + ": " +
                            (answer.empty() ? "no answer" : answer)};
    }
  }
  ::fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
  return socket;
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
  return introduced(std::move(socket), endpoint);
}

}  // namespace

runtime::Result<Socket> connect_to(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) {
    return connect_to_path(endpoint);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed =
          ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
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
    return introduced(std::move(socket), endpoint);
  }
  return cannot_connect(endpoint, error);
}

}  // namespace mxkv::bench

// Connecting: resolves the name and tries each address, no longer than the timeout.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "protocol/clients/cli/connection/stream.hpp"
#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"

namespace mxkv::cli {
namespace {

/// Owns a descriptor, and closes it unless it is taken out.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int take() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

class PlainStream final : public Stream {
 public:
  explicit PlainStream(int descriptor) noexcept : socket_(descriptor) {}

  Transfer send(std::string_view bytes) override {
    return outcome(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), Status::wants_write);
  }
  Transfer receive(char* out, std::size_t bytes) override {
    return outcome(::recv(socket_.get(), out, bytes, 0), Status::wants_read);
  }
  [[nodiscard]] std::string trouble() const override {
    return error_ == 0 ? "" : std::generic_category().message(error_);
  }
  [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }

 private:
  Transfer outcome(ssize_t moved, Status full) noexcept {
    if (moved > 0) {
      return {Status::moved, static_cast<std::size_t>(moved)};
    }
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      return {full};
    }
    error_ = moved < 0 ? errno : 0;
    return {Status::closed};
  }

  Descriptor socket_;
  int error_ = 0;
};

/// Connects and waits for the outcome: 0, or an errno value.
int connect_within(int socket, const sockaddr* address, socklen_t bytes, Milliseconds patience,
                   const std::string& server) {
  if (::connect(socket, address, bytes) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS && errno != EINTR) {
    return errno;
  }
  wait_until_ready(socket, POLLOUT, patience, server);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Failure cannot_connect(const Endpoint& endpoint, const std::string& why) {
  return {Outcome::unreachable, "cannot connect to " + text_of(endpoint) + ": " + why};
}

int dial_path(const Endpoint& endpoint, Milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  endpoint.path.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = connect_within(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address,
                                   patience, text_of(endpoint));
  if (error != 0) {
    throw cannot_connect(endpoint, std::generic_category().message(error));
  }
  return socket.take();
}

int dial_host(const Endpoint& endpoint, Milliseconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code =
          ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
      code != 0) {
    throw cannot_connect(endpoint, ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Descriptor socket(
        ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, each->ai_protocol));
    if (socket.get() < 0) {
      error = errno;
      continue;
    }
    error = connect_within(socket.get(), each->ai_addr, each->ai_addrlen, patience, text_of(endpoint));
    if (error == 0) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return socket.take();
    }
  }
  throw cannot_connect(endpoint, std::generic_category().message(error));
}

}  // namespace

short wait_until_ready(int descriptor, short events, Milliseconds patience, const std::string& server) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    check_interrupt();
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      throw Failure(Outcome::unreachable, server + ": no answer within " + std::to_string(patience.count()) +
                                              " ms (see --timeout)");
    }
    pollfd asked{.fd = descriptor, .events = events, .revents = 0};
    // Wait in slices, because a signal may come just before the call.
    const int ready = ::poll(&asked, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 200)));
    if (ready > 0) {
      return asked.revents;
    }
    if (ready < 0 && errno != EINTR) {
      throw Failure(Outcome::unreachable, server + ": " + std::generic_category().message(errno));
    }
  }
}

std::unique_ptr<Stream> dial(const Endpoint& endpoint, const TlsOptions& tls, Milliseconds patience) {
  const int socket = endpoint.path.empty() ? dial_host(endpoint, patience) : dial_path(endpoint, patience);
  if (tls.on) {
    return encrypt(socket, endpoint, tls, patience);
  }
  return std::make_unique<PlainStream>(socket);
}

}  // namespace mxkv::cli

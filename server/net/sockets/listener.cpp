#include "server/net/sockets/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "protocol/reply.hpp"
#include "server/net/sockets/keepalive.hpp"

namespace mxkv::server {

namespace {
constexpr int kAcceptedAtOnce = 64;
constexpr std::uint64_t kBackOffNs = 100'000'000;
/// Closed connections may still be counted, and their descriptors still be open, for a moment. Clients are
/// refused only if there are too many connections after this time.
constexpr std::uint64_t kGraceNs = 10'000'000;
}  // namespace

bool Listener::is_unix(int socket) noexcept {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

void Listener::accept_now(std::uint64_t now_ns) {
  bell_.rings = true;  // as long as there may be more
  again_ns_ = kForever;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (counters_.open.load(std::memory_order_relaxed) >= most() && !grace_given_) {
      grace_given_ = true;
      again_ns_ = now_ns + kGraceNs;
      return;
    }
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      shortage_.end();
      take(socket);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (std::exchange(grace_given_, true)) {
        refuse_waiting(errno);
        again_ns_ = now_ns + kBackOffNs;
      } else {
        again_ns_ = now_ns + kGraceNs;
      }
      return;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      shortage_.end();  // accept4() takes a descriptor before it looks for a connection, so there is one
      bell_.rings = false;
      break;
    }
    // Otherwise the client left before its connection was accepted: take the next one.
  }
  grace_given_ = false;
}

void Listener::take(int socket) {
  const bool crowded = counters_.open.load(std::memory_order_relaxed) >= most();
  if (crowded || !receiver_.admits(socket)) {
    (crowded ? counters_.rejected : counters_.crowded).fetch_add(1, std::memory_order_relaxed);
    receiver_.refused(socket, !crowded);
    refuse(socket);
    return;
  }
  counters_.total.fetch_add(1, std::memory_order_relaxed);
  counters_.open.fetch_add(1, std::memory_order_relaxed);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // no effect on a unix socket, which has no
                                                                   // such delay
  set_keepalive(socket, limits_.keepalive_ms);
  receiver_.accepted(socket);
}

void Listener::refuse(int socket) {
  counters_.total.fetch_add(1, std::memory_order_relaxed);
  [[maybe_unused]] const auto sent =
      ::send(socket, protocol::kTooManyConnections.data(), protocol::kTooManyConnections.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket, SHUT_WR);
  ::close(socket);
}

void Listener::refuse_waiting(int error) {
  shortage_.begin(error);
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    shortage_.keep_reserve();
    const int socket = shortage_.accept(socket_);
    if (socket < 0) {
      break;
    }
    counters_.starved.fetch_add(1, std::memory_order_relaxed);
    refuse(socket);
  }
  shortage_.keep_reserve();
}

void Listener::close() noexcept {
  if (socket_ >= 0) {
    ::close(std::exchange(socket_, -1));
  }
  bell_.rings = false;
  again_ns_ = kForever;
}

}  // namespace mxkv::server

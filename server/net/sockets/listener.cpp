#include "server/net/sockets/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "protocol/reply.hpp"
#include "server/net/sockets/keepalive.hpp"

namespace mxkv::server {

namespace {
constexpr int kAcceptedAtOnce = 64;
constexpr std::chrono::milliseconds kBackOff{100};
/// Closed connections may still be counted, and their descriptors still be open, for a moment. Clients are
/// refused only if there are too many connections after this time.
constexpr std::chrono::milliseconds kGrace{10};
}  // namespace

bool Listener::is_unix(int socket) noexcept {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

void Listener::wait() {
  socket_.async_wait(
      Descriptor::wait_read,
      InPlaceHandler{&wait_memory_, [this](const boost::system::error_code& error) { ready_ = !error; }});
}

void Listener::accept_waiting() {
  if (!ready_) [[likely]] {
    return;
  }
  ready_ = false;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (counters_.open.load(std::memory_order_relaxed) >= most() && !grace_given_) {
      grace_given_ = true;
      wait_later(kGrace);
      return;
    }
    const int socket = ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      shortage_.end();
      take(socket);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (std::exchange(grace_given_, true)) {
        refuse_waiting(errno);
        wait_later(kBackOff);
      } else {
        wait_later(kGrace);
      }
      return;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      shortage_.end();  // accept4() takes a descriptor before it looks for a connection, so there is one
      break;
    }
    // Otherwise the client left before its connection was accepted: take the next one.
  }
  grace_given_ = false;
  wait();
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
    const int socket = shortage_.accept(socket_.native_handle());
    if (socket < 0) {
      break;
    }
    counters_.starved.fetch_add(1, std::memory_order_relaxed);
    refuse(socket);
  }
  shortage_.keep_reserve();
}

// During a shortage of descriptors the listener retries even if no client comes: otherwise it would not
// notice the end.
void Listener::wait_later(std::chrono::milliseconds time) {
  backoff_.expires_after(time);
  backoff_.async_wait(InPlaceHandler{&backoff_memory_, [this](const boost::system::error_code& error) {
                                       if (error) {
                                         return;
                                       }
                                       if (shortage_.lasts()) {
                                         ready_ = true;
                                       } else {
                                         wait();
                                       }
                                     }});
}

void Listener::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  backoff_.cancel();
  ready_ = false;
}

}  // namespace mxkv::server

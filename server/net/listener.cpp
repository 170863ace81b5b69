#include "server/net/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "protocol/reply.hpp"

namespace mxkv::server {

namespace {
constexpr int kAcceptedAtOnce = 64;
constexpr std::chrono::milliseconds kBackOff{100};
/// Connections that were closed may not have been counted off yet; only who is still too many is refused.
constexpr std::chrono::milliseconds kGrace{10};
}  // namespace

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
    if (counters_.open.load(std::memory_order_relaxed) >= limits_.connections && !grace_given_) {
      grace_given_ = true;
      wait_later(kGrace);
      return;
    }
    const int socket = ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      take(socket);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      wait_later(kBackOff);
      return;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    }
    // Else that connection was gone before it was accepted: the next one.
  }
  grace_given_ = false;
  wait();
}

void Listener::take(int socket) {
  counters_.total.fetch_add(1, std::memory_order_relaxed);
  if (counters_.open.load(std::memory_order_relaxed) >= limits_.connections) {
    counters_.rejected.fetch_add(1, std::memory_order_relaxed);
    [[maybe_unused]] const auto sent =
        ::send(socket, protocol::kTooManyConnections.data(), protocol::kTooManyConnections.size(),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(socket, SHUT_WR);
    ::close(socket);
    return;
  }
  counters_.open.fetch_add(1, std::memory_order_relaxed);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a unix socket has no such delay
  receiver_.accepted(receiver_.context, socket);
}

void Listener::wait_later(std::chrono::milliseconds time) {
  backoff_.expires_after(time);
  backoff_.async_wait(InPlaceHandler{&backoff_memory_, [this](const boost::system::error_code& error) {
                                       if (!error) {
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

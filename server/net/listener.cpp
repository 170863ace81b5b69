#include "server/net/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "config/parse.hpp"
#include "protocol/reply.hpp"

namespace mxkv::server {

namespace {
constexpr int kAcceptedAtOnce = 64;
constexpr std::chrono::milliseconds kBackOff{100};
/// Connections that were closed may not have been counted off yet; only who is still too many is refused.
constexpr std::chrono::milliseconds kGrace{10};
}  // namespace

runtime::Result<std::uint16_t> Listener::open(const config::ListenAddress& address) {
  boost::system::error_code error;
  const auto failed = [&] {
    return runtime::Error{"listen on " + config::format_listen(address) + ": " + error.message()};
  };
  const auto ip = asio::ip::make_address(address.address, error);
  if (error) {
    return failed();
  }
  const asio::ip::tcp::endpoint endpoint{ip, address.port};
  acceptor_.open(endpoint.protocol(), error);
  if (error) {
    return failed();
  }
  acceptor_.set_option(asio::socket_base::reuse_address{true}, error);
  if (ip.is_v6()) {
    acceptor_.set_option(asio::ip::v6_only{true}, error);
  }
  acceptor_.bind(endpoint, error);
  if (!error) {
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }
  if (!error) {
    acceptor_.non_blocking(true, error);
  }
  if (error) {
    return failed();
  }
  return acceptor_.local_endpoint().port();
}

void Listener::wait() {
  acceptor_.async_wait(
      Acceptor::wait_read,
      InPlaceHandler{&wait_memory_, [this](const boost::system::error_code& error) { ready_ = !error; }});
}

void Listener::accept_waiting() {
  if (!ready_) [[likely]] {
    return;
  }
  ready_ = false;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (counters_.open.load(std::memory_order_relaxed) >= most_connections_ && !grace_given_) {
      grace_given_ = true;
      wait_later(kGrace);
      return;
    }
    const int socket = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
  if (counters_.open.load(std::memory_order_relaxed) >= most_connections_) {
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
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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
  acceptor_.close(ignored);
  backoff_.cancel();
  ready_ = false;
}

}  // namespace mxkv::server

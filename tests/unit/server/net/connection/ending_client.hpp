// A client that ends its connection in one of many ways, and checks that the server has freed everything of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "server/net/worker/net_worker.hpp"
#include "tests/unit/server/net/sockets/loopback_listener.hpp"

namespace mxkv::server::test {

/// The server under test, stepped by hand.
struct Ground {
  NetWorker& net;
  NetShared& shared;
  std::function<void()> run;  ///< rounds until none does any work
};

/// Runs the server until `what()` holds. The bound is an upper bound on waiting, never a measure.
template <class F>
bool wait_until(const Ground& ground, const F& what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{120};
  for (;;) {
    ground.run();
    if (what()) {
      return true;
    }
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

/// Both ends of a TCP connection.
inline std::array<int, 2> tcp_sockets() {
  const LoopbackListener listener;
  const int client = listener.connect();
  const int accepted = ::accept4(listener.socket(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  EXPECT_GE(accepted, 0);
  EXPECT_EQ(::fcntl(client, F_SETFL, O_NONBLOCK), 0);
  return {client, accepted};
}

inline std::string copies_of(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

/// How a client ends: the last bytes that it sends, then what it does with its socket.
struct Way {
  enum class act { nothing, half_close, close, reset, killed };
  const char* name;
  std::string bytes;
  act then = act::nothing;

  /// Whether no byte can reach the client any more, whatever the server waits for.
  [[nodiscard]] bool is_hard() const { return then == act::reset || then == act::killed; }
};

inline const Way kHalfClose{"half close", "", Way::act::half_close};
inline const Way kClose{"close", "", Way::act::close};
inline const Way kReset{"reset", "", Way::act::reset};
inline const Way kKilled{"client kill", "", Way::act::killed};

class EndingClient {
 public:
  explicit EndingClient(Ground ground, const Door& door = kUsualDoor) : ground_(std::move(ground)) {
    const std::array<int, 2> ends = tcp_sockets();
    socket_ = ends[0];
    theirs_ = ends[1];
    ground_.net.load().fetch_add(1);
    ground_.shared.connections.open.fetch_add(1);
    ground_.net.adopt(theirs_, door);
    ground_.run();
  }
  ~EndingClient() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }
  EndingClient(const EndingClient&) = delete;
  EndingClient& operator=(const EndingClient&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  /// Whether its first bytes, or those in `before`, are of the text protocol.
  [[nodiscard]] bool begins_as_text(std::string_view before) const {
    const std::string_view first = said_.empty() ? before : std::string_view{said_};
    return !first.empty() && first.front() != '\x80';
  }
  /// Runs no round of the server, unless the sockets cannot take all bytes.
  void put(std::string_view bytes) {
    if (said_.empty()) {
      said_ = bytes.substr(0, 1);
    }
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_TRUE(sent > 0 || errno == EAGAIN) << std::strerror(errno);
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
      if (!bytes.empty()) {
        ground_.run();
      }
    }
  }
  /// Waits until the server has replied `text`.
  void ask(std::string_view bytes, std::string_view text) {
    put(bytes);
    EXPECT_TRUE(wait_until(ground_, [&] { return read().ends_with(text); })) << received_;
    received_.clear();
  }
  void end(const Way& way, std::string_view before = {}) {
    put(std::string{before} + way.bytes);
    switch (way.then) {
      case Way::act::nothing:
        break;
      case Way::act::half_close:
        ::shutdown(socket_, SHUT_WR);
        break;
      case Way::act::reset: {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        [[fallthrough]];
      }
      case Way::act::close:
        ::close(std::exchange(socket_, -1));
        break;
      case Way::act::killed: {
        std::size_t killed = 0;
        for (std::uint64_t after = 0;;) {
          after = ground_.shared.clients.kill(after, [&](const auto& client) {
            killed += client.socket == theirs_ ? 1U : 0U;
            return client.socket == theirs_;
          });
          if (after == 0) {
            break;
          }
        }
        EXPECT_EQ(killed, 1U);
        break;
      }
    }
  }
  /// Reads all available bytes. Returns whether the server has closed the connection, as far as a client sees it.
  bool closed() {
    static_cast<void>(read());
    return socket_ < 0 || closed_;
  }
  /// All bytes received so far.
  [[nodiscard]] const std::string& received() const { return received_; }
  /// Whether the server has freed the slot: no descriptor, no count, no entry of the client table.
  [[nodiscard]] std::string left_over() const {
    std::size_t entries = 0;
    ground_.shared.clients.walk(0, [&entries](const auto&) { ++entries; });
    std::string left;
    const auto expect_none = [&left](const char* what, std::uint64_t count) {
      if (count != 0) {
        left += std::string{" "} + what + ": " + std::to_string(count);
      }
    };
    expect_none("open connections", ground_.shared.connections.open.load());
    expect_none("entries in the client table", entries);
    expect_none("descriptors", ::fcntl(theirs_, F_GETFD) == -1 ? 0 : 1);
    expect_none("TLS connections", ground_.shared.connections.by_tls.load());
    for (NetWorker* const worker : ground_.shared.workers) {
      expect_none("connections of a worker", worker->load().load());
    }
    return left;
  }

 private:
  const std::string& read() {
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while (socket_ >= 0 && (got = ::recv(socket_, buffer.data(), buffer.size(), 0)) > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    closed_ = closed_ || got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return received_;
  }

  Ground ground_;
  int socket_ = -1;
  int theirs_ = -1;
  bool closed_ = false;
  std::string received_;
  std::string said_;  ///< the first byte sent
};

}  // namespace mxkv::server::test

// A client's end of a connection to a worker that is stepped by hand.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/worker/net_worker.hpp"

namespace mxkv::server::test {

class SocketClient {
 public:
  /// `run`: runs rounds until none does any work.
  SocketClient(NetWorker& net, NetShared& shared, std::function<void()> run, const Door& door = kUsualDoor)
      : run_(std::move(run)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    socket_ = ends[0];
    net.load().fetch_add(1);
    shared.connections.open.fetch_add(1);
    net.adopt(ends[1], door);
    run_();
  }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;
  ~SocketClient() { leave(); }

  void leave() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
      run_();
    }
  }
  void send(std::string_view bytes) {
    put(bytes);
    run_();
  }
  /// The same, and ends the input, without a round of the server.
  void put(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void end() const { ::shutdown(socket_, SHUT_WR); }
  /// The bytes received so far.
  std::string received() {
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::recv(socket_, buffer.data(), buffer.size(), 0)) >= 0;) {
      if (got == 0) {
        closed_ = true;
        break;
      }
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string ask(std::string_view bytes) {
    send(bytes);
    return received();
  }
  /// Whether the server has closed the connection; up to date after received().
  [[nodiscard]] bool closed() {
    static_cast<void>(received());
    return closed_;
  }

 private:
  std::function<void()> run_;
  int socket_ = -1;
  bool closed_ = false;
};

}  // namespace mxkv::server::test

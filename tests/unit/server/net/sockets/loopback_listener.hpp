// A listening socket on a free port of 127.0.0.1, controlled by the test.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace mxkv::server::test {

class LoopbackListener {
 public:
  LoopbackListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
    EXPECT_EQ(::listen(socket_, 10), 0);
    socklen_t bytes = sizeof at_;
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at_), &bytes), 0);
  }
  ~LoopbackListener() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  /// The same, which the caller closes from now on.
  [[nodiscard]] int release() { return std::exchange(socket_, -1); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(at_.sin_port)); }
  /// The client's end of a connection that waits to be accepted.
  [[nodiscard]] int connect() const {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
    return client;
  }

 private:
  int socket_;
  sockaddr_in at_{};
};

}  // namespace mxkv::server::test

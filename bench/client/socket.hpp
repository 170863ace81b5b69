// TCP and unix sockets for the client: connect, send, receive. Raw system calls, so that the client's own
// cost a turn is one read and one write.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// An owned, connected, non-blocking socket. Thread-safety: owner only.
class Socket {
 public:
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  enum class Status { moved, would_block, closed };
  struct Transfer {
    Status status;
    std::size_t bytes = 0;
  };
  Transfer send(const char* data, std::size_t bytes) const noexcept;
  Transfer receive(char* data, std::size_t bytes) const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

struct Endpoint {
  std::string host;
  std::string port;
  std::string path{};  ///< of a unix socket; empty: TCP
};

/// "host:port", "[v6 address]:port" or "unix:path".
runtime::Result<Endpoint> parse_endpoint(const std::string& text);
/// The endpoint as it is shown to people.
std::string text_of(const Endpoint& endpoint);
/// Connects (blocking), then switches the socket to non-blocking, and TCP_NODELAY if it is TCP.
runtime::Result<Socket> connect_to(const Endpoint& endpoint);

}  // namespace mxkv::bench

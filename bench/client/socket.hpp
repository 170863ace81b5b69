// TCP and unix sockets for the client: connect, send, receive. Raw system calls, so that the client's own
// cost a turn is one read and one write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/client/tls.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// An owned, connected, non-blocking socket. Thread-safety: owner only.
class Socket {
 public:
  explicit Socket(int descriptor) noexcept;
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
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
  /// Whether received bytes are left that receive() had no room for. No event reports them.
  [[nodiscard]] bool has_more() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Encrypts from now on.
  void use(std::unique_ptr<TlsLink> tls) noexcept;

 private:
  int descriptor_;
  std::unique_ptr<TlsLink> tls_;  ///< null: plain bytes
};

/// The server's address, and the TLS and login that it requires.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string path{};                      ///< of a unix socket; empty: TCP
  std::shared_ptr<const TlsClient> tls{};  ///< null: none
  std::string user{};                      ///< empty: no login
  std::string password{};
};

/// "host:port", "[v6 address]:port" or "unix:path".
runtime::Result<Endpoint> parse_endpoint(const std::string& text);
/// The endpoint as text for messages.
std::string text_of(const Endpoint& endpoint);
/// Connects, shakes hands and logs in (blocking), then switches the socket to non-blocking, and TCP_NODELAY if it is TCP.
runtime::Result<Socket> connect_to(const Endpoint& endpoint);

}  // namespace mxkv::bench

// The socket of a connection to another node, with or without TLS.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/net/peers/peer_address.hpp"
#include "server/net/tls/tls_stream.hpp"

namespace mxkv::server {

/// Non-blocking. Thread-safety: owner worker only.
class PeerSocket {
 public:
  using outcome = TlsStream::outcome;
  using Moved = TlsStream::Moved;

  PeerSocket() = default;
  ~PeerSocket() { close(); }
  PeerSocket(const PeerSocket&) = delete;
  PeerSocket& operator=(const PeerSocket&) = delete;

  /// False: the system has no descriptor.
  [[nodiscard]] bool open(const PeerAddress& to) noexcept;
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return socket_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return socket_; }

  /// done, or wants_output: when the socket takes output, has_connected() says whether it succeeded.
  [[nodiscard]] outcome connect(const PeerAddress& to) noexcept;
  [[nodiscard]] bool has_connected() const noexcept;
  /// Speaks TLS from now on; call shake_hands() next. Throws std::bad_alloc.
  void secure(std::shared_ptr<const TlsContext> context);
  [[nodiscard]] outcome shake_hands(bool read_on) { return tls_->shake_hands(read_on); }

  /// Fills `into` as far as it can; done: there may be more. `read_on`: see Readiness.
  [[nodiscard]] Moved read(std::span<char> into, bool read_on);
  /// Sends as many bytes as it can; done: there may be room for more. The next call begins with the bytes not
  /// sent.
  [[nodiscard]] Moved write(std::string_view bytes);
  /// Whether the other side has ended the connection. Only while no reply is owed, so that any data means the
  /// end.
  [[nodiscard]] bool has_ended();
  /// The TLS error of either side; empty: none.
  [[nodiscard]] std::string complaint() const { return tls_ == nullptr ? std::string{} : tls_->reason(); }

 private:
  int socket_ = -1;
  std::unique_ptr<TlsStream> tls_;  ///< null: plain
};

}  // namespace mxkv::server

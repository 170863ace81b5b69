// The socket of a connection to another node: what is sent goes as it is, or by TLS.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/net/peer_address.hpp"
#include "server/net/tls_stream.hpp"

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

  /// done, wants_output: has_connected() tells when that was told of, or failed.
  [[nodiscard]] outcome connect(const PeerAddress& to) noexcept;
  [[nodiscard]] bool has_connected() const noexcept;
  /// From now on it speaks TLS. shake_hands() follows. Throws std::bad_alloc.
  void secure(std::shared_ptr<const TlsContext> context);
  [[nodiscard]] outcome shake_hands(bool read_on) { return tls_->shake_hands(read_on); }

  /// Fills `into` as far as it can; done: there may be more. `read_on`: see Readiness.
  [[nodiscard]] Moved read(std::span<char> into, bool read_on);
  /// Sends what it can of it; done: there may be room for more. What was not sent comes first the next time.
  [[nodiscard]] Moved write(std::string_view bytes);
  /// Where nothing is owed: whatever there is to be read is the end.
  [[nodiscard]] bool has_ended();
  /// What TLS found wrong with the other side, or it with this one; empty: nothing.
  [[nodiscard]] std::string complaint() const { return tls_ == nullptr ? std::string{} : tls_->reason(); }

 private:
  int socket_ = -1;
  std::unique_ptr<TlsStream> tls_;  ///< null: plain
};

}  // namespace mxkv::server

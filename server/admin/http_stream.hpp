// The stream of an HTTP connection: a socket with time limits, with TLS if its listener speaks it.
//
// A stream as Boost.Beast requires it. Each operation goes to the socket or to Asio's TLS over the same
// socket.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "server/admin/beast.hpp"
#include "server/net/tls/tls_context.hpp"

namespace mxkv::server {

/// Thread-safety: the server's thread.
class HttpStream {
 public:
  using executor_type = Executor;
  using Error = boost::system::error_code;
  using Plain = beast::basic_stream<asio::generic::stream_protocol, Executor>;

  /// `tls` null: no TLS. Throws std::bad_alloc.
  HttpStream(const Executor& executor, const std::shared_ptr<const TlsContext>& tls);
  ~HttpStream() = default;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  [[nodiscard]] executor_type get_executor() noexcept { return plain_.get_executor(); }
  /// The socket, with the time limit of the next operation.
  [[nodiscard]] Plain& plain() noexcept { return plain_; }
  [[nodiscard]] bool speaks_tls() const noexcept { return tls_.has_value(); }

  /// Only with TLS, and before any read.
  template <class Handler>
  void async_shake_hands(Handler&& handler) {
    tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  /// Only with TLS: sends the closing message and waits for the client's.
  template <class Handler>
  void async_say_end(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      plain_.async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      plain_.async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

  /// Why the handshake failed.
  [[nodiscard]] std::string reason_of(const Error& error);
  /// Whether the client sent HTTP without TLS.
  [[nodiscard]] static bool is_plain_http(const Error& error) noexcept;

 private:
  Plain plain_;
  std::optional<asio::ssl::stream<Plain&>> tls_;
};

}  // namespace mxkv::server

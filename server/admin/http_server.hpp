// HTTP/1.1 for administration. A thread of its own, apart from the workers, reads GET and HEAD requests, and
// HttpPages answers them. Boost.Beast parses.
//
// A client that misbehaves hurts only itself. A TLS handshake, a header and an unread reply have time limits,
// a header also a size limit, and a body is refused. A connection beyond the limit replaces the one that has
// waited longest. So a client that holds connections keeps no scraper out.
//
// Failed logins and handshakes are logged, at most one line a second of each kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/admin/http_pages.hpp"
#include "server/net/observe/warning_sink.hpp"
#include "server/net/sockets/listen_socket.hpp"
#include "server/net/tls/tls_context.hpp"
#include "server/net/users/credentials.hpp"

namespace mxkv::server {

struct HttpLimits {
  std::size_t connections = 64;
  std::chrono::milliseconds handshake_time{5000};  ///< of TLS, as a whole
  std::uint32_t header_bytes = 8192;
  std::chrono::milliseconds header_time{5000};  ///< from the header's first byte to its last
  std::chrono::milliseconds idle_time{60'000};  ///< between two requests
  std::chrono::milliseconds reply_time{10'000};
  std::chrono::milliseconds answer_time{5000};  ///< for a reply that is not ready at once
};

/// One of the listeners that the server shall have.
struct HttpListener {
  std::size_t kept = 0;                ///< the index of an existing listener, if there is no socket
  std::optional<ListenSocket> socket;  ///< a new listener, with its settings
  /// New settings of an existing listener: its connections are closed, and new ones follow these settings.
  /// None: it stays as it is.
  std::optional<config::ListenAddress> settings;
  std::shared_ptr<const TlsContext> tls;  ///< used with `settings`
};

/// Thread-safety: the thread that made it.
class HttpServer {
 public:
  /// Serves from now on. All arguments but the sockets and limits outlive this. Only the server's thread uses
  /// `counters`.
  HttpServer(std::vector<ListenSocket> sockets, HttpPages& pages, HttpCounters& counters,
             Credentials& credentials, WarningSink& log, const HttpLimits& limits = {});
  /// Closes all connections at once, and waits for its thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Makes these the listeners, in this order. Others are closed, with their connections.
  void change(std::vector<HttpListener> listeners);
  /// The doors of listeners that speak TLS; valid until change().
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server

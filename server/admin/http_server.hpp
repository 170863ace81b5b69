// HTTP/1.1 for administration: a thread of its own, apart from the workers, that reads GET and HEAD requests and has
// them answered by HttpPages. Boost.Beast parses.
//
// Who misbehaves stops only itself: a handshake of TLS has a time, each header a size and a time, a reply that is not
// taken a time, a body is refused, and a connection beyond the most takes the place of the one that has waited longest.
// So whoever holds connections keeps no scraper out.
//
// What is wrong with logins and handshakes is a line of the log each second, at most, of each kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/admin/http_pages.hpp"
#include "server/net/credentials.hpp"
#include "server/net/listen_socket.hpp"
#include "server/net/tls_context.hpp"
#include "server/net/warning_sink.hpp"

namespace mxkv::server {

struct HttpLimits {
  std::size_t connections = 64;
  std::chrono::milliseconds handshake_time{5000};  ///< of TLS, from the first byte to the last
  std::uint32_t header_bytes = 8192;
  std::chrono::milliseconds header_time{5000};  ///< from its first byte to its last
  std::chrono::milliseconds idle_time{60'000};  ///< between two requests
  std::chrono::milliseconds reply_time{10'000};
  std::chrono::milliseconds answer_time{5000};  ///< for a reply that is not known at once
};

/// A listener that there is to be.
struct HttpListener {
  std::size_t kept = 0;                ///< number of the one that is there, where there is no socket
  std::optional<ListenSocket> socket;  ///< a new one, with all that goes for it
  /// What goes for the kept one from now on: its connections are closed, and new ones are taken by this. None: it stays
  /// as it is.
  std::optional<config::ListenAddress> settings;
  std::shared_ptr<const TlsContext> tls;  ///< with the settings
};

/// Thread-safety: the thread that made it.
class HttpServer {
 public:
  /// Serves from now on. All but the sockets and limits outlive this. `counters` are the pages', on the server's thread.
  HttpServer(std::vector<ListenSocket> sockets, HttpPages& pages, HttpCounters& counters,
             Credentials& credentials, WarningSink& log, const HttpLimits& limits = {});
  /// Closes all connections at once, and waits for its thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Listens as is said, in that order, and no more where it is not: connections that came there are closed.
  void change(std::vector<HttpListener> listeners);
  /// Of the listeners that speak TLS, until they change.
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server

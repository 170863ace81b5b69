// The seam between the HTTP server, which knows sockets, and the pages, which know the data that they show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

/// The role that a page requires, if its listener asks for a login.
enum class http_need : std::uint8_t { nothing, user, administrator };

/// A GET or HEAD. The texts live as long as the call.
struct HttpRequest {
  std::string_view path;    ///< without the query; begins with a slash
  std::string_view query;   ///< behind the question mark, not decoded
  std::string_view accept;  ///< the header Accept; empty: there is none
  bool sees_keys = true;    ///< keys and clients may be shown: no login was required, or the user is an
                            ///< administrator
};

struct HttpReply {
  unsigned status = 200;
  std::string_view type;  ///< of the content; a literal
  std::string body;
};

/// The server's counters. They continue when the server ends and another begins.
struct HttpCounters {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;    ///< of these, the ones that got an error 4xx
  std::uint64_t displaced = 0;  ///< closed to make room for a new connection
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  std::uint64_t wrong_logins = 0;
  std::uint64_t handshakes = 0;        ///< TLS handshakes that succeeded
  std::uint64_t handshake_errors = 0;  ///< TLS handshakes that failed
};

/// Thread-safety: the server's thread.
class HttpPages {
 public:
  HttpPages() = default;
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

  [[nodiscard]] virtual http_need need_of(std::string_view path) const = 0;
  /// The reply; none: it is not ready yet, and the same request has to be asked again in a moment.
  [[nodiscard]] virtual std::optional<HttpReply> answer(const HttpRequest& request) = 0;
  /// Called once a second.
  virtual void tick() = 0;

 protected:
  ~HttpPages() = default;
};

}  // namespace mxkv::server

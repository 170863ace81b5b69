// What answers a request by HTTP: the seam between the server, which knows sockets, and the pages, which know what
// they show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

/// Who may see a page, where its listener asks for a login.
enum class http_need : std::uint8_t { nothing, user, administrator };

/// A GET or HEAD. The texts live as long as the call.
struct HttpRequest {
  std::string_view path;    ///< without the query; begins with a slash
  std::string_view query;   ///< behind the question mark, as it came
  std::string_view accept;  ///< the header of that name; empty: there is none
  bool sees_keys = true;    ///< and clients: no login was asked for, or an administrator asks
};

struct HttpReply {
  unsigned status = 200;
  std::string_view type;  ///< of the content; lives for ever
  std::string body;
};

/// What the server counts; it goes on where one that listened before has ended.
struct HttpCounters {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;    ///< of them, those that got an error of the 400s
  std::uint64_t displaced = 0;  ///< connections that made room for a new one
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  std::uint64_t wrong_logins = 0;
  std::uint64_t handshakes = 0;        ///< of TLS, that ended well
  std::uint64_t handshake_errors = 0;  ///< of TLS
};

/// Thread-safety: the server's thread.
class HttpPages {
 public:
  HttpPages() = default;
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

  [[nodiscard]] virtual http_need need_of(std::string_view path) const = 0;
  /// The reply; nothing: it is not known yet, and the same is to be asked again in a moment.
  [[nodiscard]] virtual std::optional<HttpReply> answer(const HttpRequest& request) = 0;
  /// Called once a second.
  virtual void tick() = 0;

 protected:
  ~HttpPages() = default;
};

}  // namespace mxkv::server

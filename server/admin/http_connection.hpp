// One connection of HttpServer: reads a header, asks for a login if its listener requires it, gets the reply
// from the pages, writes it, and begins again. Pipelined requests are answered one after the other.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "server/admin/http_login.hpp"
#include "server/admin/http_server.hpp"
#include "server/admin/http_stream.hpp"
#include "server/admin/http_target.hpp"
#include "server/net/sockets/descriptor_reserve.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

class HttpConnection;

/// The rules that a listener's connections have in common. Only the TLS context may change.
struct HttpDoor {
  bool asks_login = false;
  std::unique_ptr<TlsDoor> tls;  ///< null: no TLS
};

/// State that all connections share. Thread-safety: the server's thread.
struct HttpShared {
  HttpPages& pages;
  HttpCounters& counters;
  const HttpLimits& limits;
  Credentials& credentials;
  std::string host_name;  ///< this machine's name
  PasswordDigester digester{};
  Happenings happenings{};            ///< events for the log: see HttpServer
  std::list<HttpConnection*> open{};  ///< the connection that has waited longest comes first
  /// Descriptors for when clients have taken all others: enough for both probes, a scraper and an
  /// administrator.
  DescriptorReserve reserve{4};
};

/// Lives until its last handler has run. Thread-safety: the server's thread.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// Takes over an accepted socket. Throws std::bad_alloc.
  HttpConnection(const Executor& executor, int family, int socket, HttpShared& shared,
                 std::shared_ptr<const HttpDoor> door);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  /// Closes the connection. Its pending waits end with an error, and then it is destroyed.
  void close();
  [[nodiscard]] const HttpDoor* door() const noexcept { return door_.get(); }

 private:
  using Error = boost::system::error_code;
  using Time = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool is_closed() const noexcept { return place_ == shared_.open.end(); }
  void leave_list();
  void shake_hands();
  void hands_shaken(const Error& error);
  void await_request();
  void read_header();
  void take_header();
  /// Reads once, then calls `then`. An end of input or an error ends the connection.
  void read_more(void (HttpConnection::*then)());
  void header_came(const Error& error);
  void note_foreign_protocol();
  void answer();
  void let_in(HttpLogin::verdict verdict);
  void look_at_login();
  void refuse_login(const char* why, bool last);
  void ask_pages();
  /// Calls `what` in a moment.
  void later(void (HttpConnection::*what)());
  /// `last`: the connection ends after the reply.
  void send(HttpReply reply, bool last);
  void refuse(unsigned status, const char* why);
  void sent(const Error& error, bool last);
  void end();
  void linger();

  HttpShared& shared_;
  const std::shared_ptr<const HttpDoor> door_;
  HttpStream stream_;
  const std::string peer_;  ///< as in ConnectionFacts
  HttpLogin login_;
  std::list<HttpConnection*>::iterator place_;  ///< in `open`; its end: the connection is closed
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::size_t header_bytes_ = 0;  ///< bytes of the current header that the parser has taken
  HttpTarget target_;             ///< of the request in the parser
  Timer timer_;
  bool sees_keys_ = true;  ///< the client may see keys and clients
  Time asked_{};
  std::size_t lingered_ = 0;
};

}  // namespace mxkv::server

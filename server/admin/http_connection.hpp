// One connection of HttpServer: reads a header, asks for a login where its listener does, has the request answered, writes
// the reply, and begins anew. Requests that were sent together are answered one after the other.
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
#include "server/net/descriptor_reserve.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

class HttpConnection;

/// What connections of a listener have in common. Does not change, but for what TLS is spoken by.
struct HttpDoor {
  bool asks_login = false;
  std::unique_ptr<TlsDoor> tls;  ///< null: it speaks none
};

/// What all connections have in common. Thread-safety: the server's thread.
struct HttpShared {
  HttpPages& pages;
  HttpCounters& counters;
  const HttpLimits& limits;
  Credentials& credentials;
  std::string host_name;  ///< of this machine
  PasswordDigester digester{};
  Happenings happenings{};            ///< what the log is to tell of: see HttpServer
  std::list<HttpConnection*> open{};  ///< who has waited longest comes first
  /// So that a probe is answered when clients have taken all other descriptors: for both probes, a scraper and a person.
  DescriptorReserve reserve{4};
};

/// Lives until its last handler has run. Thread-safety: the server's thread.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// Takes over a socket that was accepted. Throws std::bad_alloc.
  HttpConnection(const Executor& executor, int family, int socket, HttpShared& shared,
                 std::shared_ptr<const HttpDoor> door);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  /// What it waits for ends with an error, and so does it.
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
  /// Reads once, then goes on; an end or an error is the connection's.
  void read_more(void (HttpConnection::*then)());
  void header_came(const Error& error);
  void note_foreign_protocol();
  void answer();
  void let_in(HttpLogin::verdict verdict);
  void look_at_login();
  void refuse_login(const char* why, bool last);
  void ask_pages();
  /// Does it in a moment.
  void later(void (HttpConnection::*what)());
  /// `last`: nothing more is read.
  void send(HttpReply reply, bool last);
  void refuse(unsigned status, const char* why);
  void sent(const Error& error, bool last);
  void end();
  void linger();

  HttpShared& shared_;
  const std::shared_ptr<const HttpDoor> door_;
  HttpStream stream_;
  const std::string peer_;  ///< as ConnectionFacts
  HttpLogin login_;
  std::list<HttpConnection*>::iterator place_;  ///< in the list; its end: it was closed
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::size_t header_bytes_ = 0;  ///< of the header that is being read, as far as the parser took them
  HttpTarget target_;             ///< of the request that the parser holds
  Timer timer_;
  bool sees_keys_ = true;  ///< who made the request
  Time asked_{};
  std::size_t lingered_ = 0;
};

}  // namespace mxkv::server

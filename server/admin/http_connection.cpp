#include "server/admin/http_connection.hpp"

#include <unistd.h>

#include <exception>
#include <string_view>
#include <utility>

#include "protocol/parser.hpp"
#include "server/admin/http_host.hpp"
#include "server/admin/http_message.hpp"
#include "server/net/observe/connection_facts.hpp"

namespace mxkv::server {

namespace {

constexpr std::size_t kReadBytes = 2048;
constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::milliseconds kLingerTime{1000};
constexpr std::size_t kMostLingered = std::size_t{256} << 10U;

}  // namespace

HttpConnection::HttpConnection(const Executor& executor, int family, int socket, HttpShared& shared,
                               std::shared_ptr<const HttpDoor> door)
    : shared_(shared),
      door_(std::move(door)),
      stream_(executor, door_->tls == nullptr ? nullptr : door_->tls->current()),
      peer_(facts_of_socket(socket).peer),
      login_(shared.credentials, shared.digester, client_of(peer_)),
      place_(shared.open.insert(shared.open.end(), this)),
      buffer_(shared.limits.header_bytes + kReadBytes),
      timer_(executor) {
  Error error;
  stream_.plain().socket().assign(asio::generic::stream_protocol{family, 0}, socket, error);
  if (error) {
    ::close(socket);  // the first read fails
  }
  ++shared_.counters.connections;
  ++shared_.counters.open;
}

HttpConnection::~HttpConnection() {
  close();
}

void HttpConnection::leave_list() {
  if (!is_closed()) {
    shared_.open.erase(std::exchange(place_, shared_.open.end()));
    --shared_.counters.open;
  }
}

void HttpConnection::close() {
  leave_list();
  stream_.plain().close();
  shared_.reserve.refill();  // before clients take the descriptor that is free now
  timer_.cancel();
}

void HttpConnection::start() {
  if (stream_.speaks_tls()) {
    shake_hands();
  } else {
    await_request();
  }
}

void HttpConnection::shake_hands() {
  stream_.plain().expires_after(shared_.limits.handshake_time);
  stream_.async_shake_hands([self = shared_from_this()](const Error& error) { self->hands_shaken(error); });
}

void HttpConnection::hands_shaken(const Error& error) {
  if (!error) {
    ++shared_.counters.handshakes;
    await_request();
    return;
  }
  if (error == asio::error::operation_aborted) {
    return;  // the connection was closed
  }
  ++shared_.counters.handshake_errors;
  shared_.happenings.note(happening::failed_handshake,
                          {.client = peer_, .text = ": " + stream_.reason_of(error)});
  if (HttpStream::is_plain_http(error)) {
    stream_.plain().expires_after(shared_.limits.reply_time);
    asio::async_write(stream_.plain(), asio::buffer(kWantsTls.data(), kWantsTls.size()),
                      [self = shared_from_this()](const Error& failed, std::size_t /*bytes*/) {
                        if (!failed) {
                          self->end();
                        }
                      });
  }
}

// A header's time limit begins with its first byte: before that a client may keep the connection open for its
// next request.
void HttpConnection::await_request() {
  if (is_closed()) {
    return;
  }
  shared_.open.splice(shared_.open.end(), shared_.open, place_);
  if (buffer_.size() > 0) {
    read_header();
    return;
  }
  stream_.plain().expires_after(shared_.limits.idle_time);
  read_more(&HttpConnection::read_header);
}

void HttpConnection::read_header() {
  parser_.emplace();
  parser_->header_limit(shared_.limits.header_bytes);
  header_bytes_ = 0;
  stream_.plain().expires_after(shared_.limits.header_time);
  take_header();
}

// The parser limits only the bytes that it gets in one call, and Beast's reads do not add up the bytes of
// earlier calls. Without this sum a header of many short lines would have no limit.
void HttpConnection::take_header() {
  Error error;
  const std::size_t taken = parser_->put(buffer_.data(), error);
  buffer_.consume(taken);
  header_bytes_ += taken;
  const bool needs_more = error == http::error::need_more;
  if (header_bytes_ + (needs_more ? buffer_.size() : 0) > shared_.limits.header_bytes) {
    header_came(http::make_error_code(http::error::header_limit));
  } else if (needs_more) {
    read_more(&HttpConnection::take_header);
  } else {
    header_came(error);
  }
}

void HttpConnection::read_more(void (HttpConnection::*then)()) {
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this(), then](const Error& error, std::size_t bytes) {
                            if (!error) {
                              self->buffer_.commit(bytes);
                              (self.get()->*then)();
                            }
                          });
}

void HttpConnection::header_came(const Error& error) {
  if (error == http::error::header_limit) {
    refuse(431, "the header is too long");
  } else if (error) {
    note_foreign_protocol();
    refuse(400, "this is no request of HTTP/1.1");
  } else {
    answer();
  }
}

// The client expects TLS and cannot read our reply, so only the log can show the mistake.
void HttpConnection::note_foreign_protocol() {
  const std::string_view bytes{static_cast<const char*>(buffer_.cdata().data()), buffer_.size()};
  if (protocol::foreign_protocol(bytes) == "TLS") {
    shared_.happenings.note(happening::foreign_protocol,
                            {.client = peer_, .text = ": it speaks TLS, which its listener does not"});
  }
}

void HttpConnection::answer() {
  const auto& request = parser_->get();
  target_ = read_target(view_of(request.target()), {.count = request.count(http::field::host),
                                                    .first = view_of(request[http::field::host]),
                                                    .needed = request.version() != 10});
  if (target_.flaw != nullptr) {
    refuse(400, target_.flaw);
  } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
    refuse(405, "only GET and HEAD are known: nothing can be changed here");
  } else if (!parser_->is_done()) {
    refuse(413, "a request has no body here");
  } else if (is_browser(request) && !is_own_host(target_.host, shared_.host_name)) {
    refuse(421, "a browser may ask by an address, or by this machine's own name");
  } else {
    ++shared_.counters.requests;
    sees_keys_ = true;
    const bool asks = door_->asks_login && shared_.pages.need_of(target_.path) != http_need::nothing;
    if (asks) {
      let_in(login_.ask(view_of(request[http::field::authorization])));
    } else {
      asked_ = std::chrono::steady_clock::now();
      ask_pages();
    }
  }
}

void HttpConnection::let_in(HttpLogin::verdict verdict) {
  switch (verdict) {
    case HttpLogin::verdict::nobody:
      refuse_login("a user and its password are asked for here", false);
      break;
    case HttpLogin::verdict::wrong:
      ++shared_.counters.wrong_logins;
      shared_.happenings.note(happening::wrong_login,
                              {.client = peer_,
                               .text = login_.name().empty() ? "" : " as " + in_quotes(login_.name()),
                               .user = std::string{login_.name()}});
      refuse_login("wrong user or password", login_.is_over());
      break;
    case HttpLogin::verdict::busy:
      send(error_reply(503, "too many logins are waiting"), true);
      break;
    case HttpLogin::verdict::waits:
      later(&HttpConnection::look_at_login);
      break;
    case HttpLogin::verdict::accepted:
      sees_keys_ = login_.user()->may_administer();
      if (!sees_keys_ && shared_.pages.need_of(target_.path) == http_need::administrator) {
        shared_.credentials.count_forbidden();
        ++shared_.counters.refused;
        send(error_reply(403, "only an administrator may see this"), !parser_->get().keep_alive());
        break;
      }
      asked_ = std::chrono::steady_clock::now();
      ask_pages();
      break;
  }
}

void HttpConnection::look_at_login() {
  let_in(login_.look());
}

void HttpConnection::refuse_login(const char* why, bool last) {
  ++shared_.counters.refused;
  send(error_reply(401, why), last || !parser_->get().keep_alive());
}

void HttpConnection::ask_pages() {
  const auto& request = parser_->get();
  std::optional<HttpReply> reply;
  try {
    reply = shared_.pages.answer({.path = target_.path,
                                  .query = target_.query,
                                  .accept = view_of(request[http::field::accept]),
                                  .sees_keys = sees_keys_});
  } catch (const std::exception& error) {
    reply = error_reply(500, error.what());
  }
  if (!reply && std::chrono::steady_clock::now() - asked_ < shared_.limits.answer_time) {
    later(&HttpConnection::ask_pages);
    return;
  }
  if (!reply) {
    reply = error_reply(503, "the workers did not answer in time");
  }
  if (reply->status >= 400 && reply->status < 500) {
    ++shared_.counters.refused;
  }
  send(*std::move(reply), !request.keep_alive());
}

void HttpConnection::later(void (HttpConnection::*what)()) {
  stream_.plain().expires_never();
  timer_.expires_after(kLookAgain);
  timer_.async_wait([self = shared_from_this(), what](const Error& error) {
    if (!error && !self->is_closed()) {  // the handler may have been due already when close() cancelled it
      (self.get()->*what)();
    }
  });
}

void HttpConnection::refuse(unsigned status, const char* why) {
  ++shared_.counters.requests;
  ++shared_.counters.refused;
  send(error_reply(status, why), true);
}

void HttpConnection::send(HttpReply reply, bool last) {
  http::message_generator message = message_of(parser_->get(), std::move(reply), last);
  stream_.plain().expires_after(shared_.limits.reply_time);
  beast::async_write(stream_, std::move(message),
                     [self = shared_from_this(), last](const Error& error, std::size_t /*bytes*/) {
                       self->sent(error, last);
                     });
}

void HttpConnection::sent(const Error& error, bool last) {
  if (error) {
    return;
  }
  if (!last) {
    await_request();
    return;
  }
  if (!stream_.speaks_tls()) {
    end();
    return;
  }
  stream_.plain().expires_after(kLingerTime);
  stream_.async_say_end([self = shared_from_this()](const Error& /*error*/) { self->end(); });
}

void HttpConnection::end() {
  Error ignored;
  stream_.plain().socket().shutdown(asio::socket_base::shutdown_send, ignored);
  stream_.plain().expires_after(kLingerTime);
  linger();
}

// Reads and drops the client's bytes for a moment. If a socket is closed with unread bytes, the client gets
// an error in place of the reply.
void HttpConnection::linger() {
  buffer_.clear();
  stream_.plain().async_read_some(buffer_.prepare(kReadBytes),
                                  [self = shared_from_this()](const Error& error, std::size_t bytes) {
                                    self->lingered_ += bytes;
                                    if (!error && self->lingered_ < kMostLingered) {
                                      self->linger();
                                    }
                                  });
}

}  // namespace mxkv::server

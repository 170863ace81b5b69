// The other side of a TLS connection whose bytes the test may cut, change and withhold, and the ways in which a
// connection ends without a close_notify, or with a wrong message.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/tls/openssl.hpp"

namespace mxkv::server::test {

/// Settings that connecting peers share.
class ConnectingContext {
 public:
  ConnectingContext() : context_(SSL_CTX_new(TLS_client_method())) {}
  ~ConnectingContext() { SSL_CTX_free(context_); }
  ConnectingContext(const ConnectingContext&) = delete;
  ConnectingContext& operator=(const ConnectingContext&) = delete;
  [[nodiscard]] SSL_CTX* get() const { return context_; }

 private:
  SSL_CTX* context_;
};

/// Speaks TLS into strings. `accepts`: it is the side that accepts.
class ScriptedPeer {
 public:
  explicit ScriptedPeer(SSL_CTX* context, bool accepts = false)
      : ssl_(SSL_new(context)), come_(BIO_new(BIO_s_mem())), go_(BIO_new(BIO_s_mem())) {
    BIO_set_mem_eof_return(come_, -1);
    SSL_set_bio(ssl_, come_, go_);
    accepts ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
  }
  ~ScriptedPeer() { SSL_free(ssl_); }
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  /// Continues the handshake; returns the bytes to be sent.
  std::string shake_hands() {
    shook_ = SSL_do_handshake(ssl_) == 1;
    ERR_clear_error();
    return taken();
  }
  [[nodiscard]] bool shook_hands() const { return shook_; }
  /// The bytes of a record with `text`; empty if it cannot send that.
  std::string say(std::string_view text) {
    static_cast<void>(SSL_write(ssl_, text.data(), static_cast<int>(text.size())));
    ERR_clear_error();
    return taken();
  }
  /// The bytes of a close_notify.
  std::string say_end() {
    SSL_shutdown(ssl_);
    ERR_clear_error();
    return taken();
  }
  void hear(std::string_view bytes) { BIO_write(come_, bytes.data(), static_cast<int>(bytes.size())); }
  /// The plain text of the received bytes.
  std::string understood() {
    std::string all;
    std::array<char, 4096> buffer{};
    for (int got = 0; (got = SSL_read(ssl_, buffer.data(), buffer.size())) > 0;) {
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    ERR_clear_error();
    return all;
  }

 private:
  std::string taken() {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(go_, &bytes);
    std::string all(bytes, static_cast<std::size_t>(count > 0 ? count : 0));
    static_cast<void>(BIO_reset(go_));
    return all;
  }

  SSL* ssl_;
  BIO* come_;
  BIO* go_;
  bool shook_ = false;
};

/// The ways in which a connection ends out of order.
enum class ending { half_close, close, junk, junk_record, alert };

inline constexpr std::array kEndings{ending::half_close, ending::close, ending::junk, ending::junk_record,
                                     ending::alert};

inline const char* name_of(ending how) {
  constexpr std::array kNames{"half close", "close", "junk", "junk record", "alert"};
  return kNames[static_cast<std::size_t>(how)];
}

/// Bytes after which no valid record follows; empty if only the socket ends.
inline std::string_view last_bytes(ending how) {
  using namespace std::string_view_literals;
  constexpr std::string_view kRecord =
      "\x17\x03\x03\x00\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv;
  switch (how) {
    case ending::half_close:
    case ending::close:
      return {};
    case ending::junk:
      return "GET / HTTP/1.1\r\n\r\n"sv;
    case ending::junk_record:
      return kRecord;
    case ending::alert:
      return "\x15\x03\x03\x00\x02\x02\x28"sv;  // fatal, "handshake failure", as clear text
  }
  return {};
}

/// Sends bytes whether or not the other side still reads them.
inline void send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Sends `good` and ends the connection in this way, both in one segment if both are bytes. The socket is -1 if it was closed.
inline void end_by(int& socket, ending how, std::string good = {}) {
  send_bytes(socket, good.append(last_bytes(how)));
  if (how == ending::close) {
    ::close(std::exchange(socket, -1));  // a reset, if a byte is unread
  } else {
    ::shutdown(socket, SHUT_WR);
  }
}

/// All bytes that can be read from a socket now.
inline std::string bytes_there(int socket) {
  std::string all;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;) {
    all.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return all;
}

}  // namespace mxkv::server::test

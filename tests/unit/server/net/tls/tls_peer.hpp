// For tests of TLS: certificates, and the client's side of a socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/tls/openssl.hpp"
#include "server/net/tls/tls_context.hpp"
#include "tests/unit/server/net/tls/certificate_files.hpp"

namespace mxkv::server::test {

inline std::shared_ptr<const TlsContext> context_of(const config::TlsOptions& options) {
  std::vector<TlsFlaw> flaws;
  std::vector<std::string> doubts;
  auto made = TlsContext::read(options, flaws, doubts);
  EXPECT_NE(made, nullptr);
  EXPECT_TRUE(flaws.empty() && doubts.empty());
  return made;
}

/// The same for tests that read the certificates at once.
class Files : public CertificateFiles {
 public:
  using CertificateFiles::CertificateFiles;
  [[nodiscard]] std::shared_ptr<const TlsContext> context() const { return context_of(options()); }
};

/// The client's side of a socket, non-blocking.
class Peer {
 public:
  /// `suites`: cipher suites of TLS 1.3, the preferred first; empty: OpenSSL's.
  explicit Peer(int socket, const char* suites = "")
      : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)), socket_(socket) {
    if (*suites != '\0') {
      EXPECT_EQ(SSL_set_ciphersuites(ssl_, suites), 1);
    }
    SSL_set_fd(ssl_, socket);
    SSL_set_connect_state(ssl_);
    SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  ~Peer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(socket_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool shake_hands() {
    const bool done = SSL_do_handshake(ssl_) == 1;
    ERR_clear_error();
    return done;
  }
  void send(std::string_view text) {
    EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())), static_cast<int>(text.size()));
  }
  std::string received() {
    std::string all;
    std::array<char, 20000> buffer{};
    for (int got = 0; (got = SSL_read(ssl_, buffer.data(), buffer.size())) > 0;) {
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    ERR_clear_error();
    return all;
  }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
  int socket_;
};

inline std::array<int, 2> sockets() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  return ends;
}

}  // namespace mxkv::server::test

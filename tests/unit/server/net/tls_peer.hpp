// For tests of TLS: certificates, and the client's side of a socket.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/openssl.hpp"
#include "server/net/tls_context.hpp"

namespace mxkv::server::test {

inline std::shared_ptr<const TlsContext> context_of(const config::TlsOptions& options) {
  std::vector<TlsFlaw> flaws;
  std::vector<std::string> doubts;
  auto made = TlsContext::read(options, flaws, doubts);
  EXPECT_NE(made, nullptr);
  EXPECT_TRUE(flaws.empty() && doubts.empty());
  return made;
}

/// A certificate of its own, and its key, as files.
class Files {
 public:
  /// `called`: what it is for.
  explicit Files(const std::string& called = "unit")
      : folder_(std::filesystem::temp_directory_path() /
                ("mxkv-tls-" + std::to_string(::getpid()) + called)) {
    std::filesystem::create_directories(folder_);
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 100L * 24 * 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(called.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_version(certificate, X509_VERSION_3);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + called).c_str());
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    write("certificate", [&](BIO* file) { PEM_write_bio_X509(file, certificate); });
    write("key",
          [&](BIO* file) { PEM_write_bio_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] config::TlsOptions options() const {
    return {.certificate = folder_ / "certificate", .key = folder_ / "key"};
  }
  /// The same for who believes only in such as its own.
  [[nodiscard]] config::TlsOptions options_of_node(const std::string& name = {}) const {
    config::TlsOptions of_node = options();
    of_node.client_ca = of_node.certificate;
    of_node.name = name;
    of_node.minimum = config::tls_version::v1_3;
    return of_node;
  }
  [[nodiscard]] std::shared_ptr<const TlsContext> context() const { return context_of(options()); }

 private:
  template <class F>
  void write(const char* name, const F& what) {
    BIO* const file = BIO_new_file((folder_ / name).c_str(), "w");
    what(file);
    BIO_free(file);
  }
  std::filesystem::path folder_;
};

/// The client's side of a socket, without waiting.
class Peer {
 public:
  /// `suites`: of TLS 1.3, which it wants most first; empty: OpenSSL's.
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

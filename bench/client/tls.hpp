// TLS of the client's connections: one set of certificates for all of them, and the state of one connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/base/result.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct bio_method_st;

namespace mxkv::bench {

struct TlsOptions {
  bool wanted = false;
  std::string ca{};           ///< file of trusted roots; empty: the system's
  std::string certificate{};  ///< the client's own; empty: none
  std::string key{};
  bool insecure = false;  ///< accepts any server certificate
};

/// State that connections share. Thread-safety: any thread.
class TlsClient {
 public:
  /// Errors name the file.
  [[nodiscard]] static runtime::Result<std::shared_ptr<const TlsClient>> make(const TlsOptions& options);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_; }
  [[nodiscard]] const bio_method_st* socket_method() const noexcept { return socket_method_; }
  [[nodiscard]] bool insecure() const noexcept { return insecure_; }

 private:
  TlsClient();

  ssl_ctx_st* context_;
  bio_method_st* socket_method_;
  bool insecure_ = false;
};

/// The TLS state of one connection. Thread-safety: owner only.
class TlsLink {
 public:
  /// Shakes hands on a socket that blocks, with the server called `host`. Errors: why it failed.
  [[nodiscard]] static runtime::Result<std::unique_ptr<TlsLink>> open(std::shared_ptr<const TlsClient> client,
                                                                      int socket, const std::string& host);
  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  /// As recv(2) and send(2) of a non-blocking socket. Returns bytes; 0: the server closed; -1: try later; -2:
  /// broken.
  [[nodiscard]] long receive(char* to, std::size_t most) noexcept;
  [[nodiscard]] long send(const char* from, std::size_t bytes) noexcept;
  /// Whether decrypted bytes are left that receive() had no room for. The socket does not report them.
  [[nodiscard]] bool has_more() const noexcept { return more_; }

 private:
  TlsLink(std::shared_ptr<const TlsClient> client, int socket);
  [[nodiscard]] long stopped() noexcept;

  std::shared_ptr<const TlsClient> client_;
  ssl_st* ssl_;
  bool broken_ = false;
  bool more_ = false;
};

}  // namespace mxkv::bench

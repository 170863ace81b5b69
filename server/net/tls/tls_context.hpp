// A listener's certificate, key and TLS rules, and the door that holds the current ones, which a reload
// replaces. A node connects to other nodes of a cluster with the context of its own peer listener.
//
// A context is made of files, completely or not at all. A connection uses the context that it began with
// until it ends. Tickets let a client resume a session. Their keys belong to the context, so that no ticket
// outlives a reload: a client whose certificate is no longer accepted has to show it again. If the kernel can
// encrypt (its module tls), connections ask it to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/options.hpp"

struct bio_method_st;
struct ssl_ctx_st;

namespace mxkv::server {

/// An error in the files of a listener, by their key in the configuration.
struct TlsFlaw {
  std::string key;   ///< "certificate", "key" or "client_ca"
  std::string what;  ///< the file, and its error
};

/// Thread-safety: any thread.
class TlsContext {
 public:
  /// Reads the files. Null: they have flaws. `doubts`: warnings about files that are usable.
  [[nodiscard]] static std::shared_ptr<const TlsContext> read(const config::TlsOptions& options,
                                                              std::vector<TlsFlaw>& flaws,
                                                              std::vector<std::string>& doubts);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// For people: the certificate's subject, and until when it is valid.
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }
  /// The end of the certificate's validity, in seconds since 1970; 0: unknown.
  [[nodiscard]] std::int64_t ends_unix_s() const noexcept { return ends_unix_s_; }
  /// Whether the kernel may encrypt.
  [[nodiscard]] bool by_kernel() const noexcept { return by_kernel_; }

  // --- For connections: tls_stream.cpp ---

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_; }
  [[nodiscard]] const bio_method_st* socket_method() const noexcept { return socket_method_; }

 private:
  TlsContext();
  void set_rules(const config::TlsOptions& options) noexcept;
  void use_certificate(const config::TlsOptions& options, std::vector<TlsFlaw>& flaws);
  void use_authority(const config::TlsOptions& options, std::vector<TlsFlaw>& flaws);
  void look_at_certificate(const std::string& file, std::vector<std::string>& doubts);

  const bool by_kernel_;
  ssl_ctx_st* context_;
  bio_method_st* socket_method_;
  std::string summary_;
  std::int64_t ends_unix_s_ = 0;
};

/// Whether the kernel has TLS.
[[nodiscard]] bool kernel_has_tls() noexcept;

/// The context that a listener uses now. Thread-safety: any thread.
class TlsDoor {
 public:
  /// `place`: where its listener waits, for people.
  TlsDoor(config::TlsOptions options, std::shared_ptr<const TlsContext> context, std::string place = {})
      : options_(std::move(options)), place_(std::move(place)), context_(std::move(context)) {}

  [[nodiscard]] const config::TlsOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] std::shared_ptr<const TlsContext> current() const {
    const std::scoped_lock lock{mutex_};
    return context_;
  }
  /// Takes effect for connections that come from now on.
  void replace(std::shared_ptr<const TlsContext> context) {
    const std::scoped_lock lock{mutex_};
    context_ = std::move(context);
  }

 private:
  const config::TlsOptions options_;
  const std::string place_;
  mutable std::mutex mutex_;  ///< guards context_
  std::shared_ptr<const TlsContext> context_;
};

/// When the certificate of a listener ends.
struct CertificateEnd {
  std::string listener;
  std::int64_t unix_s = 0;  ///< 0: unknown
};
/// Of all doors. Any thread.
[[nodiscard]] std::vector<CertificateEnd> certificate_ends(const std::vector<TlsDoor*>& doors);

/// Reads the files of all doors again, for connections that come from then on. If there are flaws, changes
/// nothing. Returns how many doors have new contexts. Any thread.
[[nodiscard]] std::size_t reread_certificates(const std::vector<TlsDoor*>& doors, std::vector<TlsFlaw>& flaws,
                                              std::vector<std::string>& doubts);

}  // namespace mxkv::server

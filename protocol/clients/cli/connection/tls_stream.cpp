// The encrypted form of a stream: the only door to OpenSSL.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "protocol/clients/cli/connection/stream.hpp"
#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

std::string reason_of_openssl() {
  const unsigned long code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return reason == nullptr ? "" : reason;
}

using Context = std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&::SSL_free)>;

void want_file(int done, const std::string& option, const std::string& file) {
  if (done != 1) {
    throw Failure(Outcome::file, option + ": " + file + ": " + reason_of_openssl());
  }
}

Context context_of(const TlsOptions& options) {
  Context context(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  if (context == nullptr) {
    throw Failure(Outcome::unreachable, "OpenSSL: " + reason_of_openssl());
  }
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.insecure) {
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (options.ca.empty()) {
      ::SSL_CTX_set_default_verify_paths(context.get());
    } else {
      want_file(::SSL_CTX_load_verify_locations(context.get(), options.ca.c_str(), nullptr), "--ca",
                options.ca);
    }
  }
  if (!options.certificate.empty()) {
    want_file(::SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()), "--cert",
              options.certificate);
    const std::string& key = options.key.empty() ? options.certificate : options.key;
    want_file(::SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM), "--key", key);
  }
  return context;
}

/// Sets the name that the certificate must have. Over a unix socket any name will do if the authority signed
/// it.
void expect_name(SSL* session, const Endpoint& endpoint) {
  if (!endpoint.path.empty()) {
    return;
  }
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const char* const host = endpoint.host.c_str();
  if (::inet_pton(AF_INET, host, address.data()) == 1 || ::inet_pton(AF_INET6, host, address.data()) == 1) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session), host);
    return;
  }
  ::SSL_set_tlsext_host_name(session, host);
  ::SSL_set1_host(session, host);
}

class TlsStream final : public Stream {
 public:
  TlsStream(int descriptor, const TlsOptions& options)
      : descriptor_(descriptor), context_(nullptr, &::SSL_CTX_free), session_(nullptr, &::SSL_free) {
    try {
      context_ = context_of(options);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    session_.reset(::SSL_new(context_.get()));
    ::SSL_set_fd(session_.get(), descriptor);
    ::SSL_set_connect_state(session_.get());
  }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream() override {
    ::SSL_shutdown(session_.get());  // tells the server, without waiting for its answer
    ::ERR_clear_error();
    ::close(descriptor_);
  }

  void shake_hands(const Endpoint& endpoint, bool insecure, Milliseconds patience) {
    if (!insecure) {
      expect_name(session_.get(), endpoint);
    }
    for (;;) {
      const int done = ::SSL_do_handshake(session_.get());
      if (done == 1) {
        return;
      }
      const Transfer what = outcome(done, 0);
      if (what.status == Status::closed) {
        const long verdict = ::SSL_get_verify_result(session_.get());
        const std::string why =
            verdict == X509_V_OK || insecure ? trouble_ : ::X509_verify_cert_error_string(verdict);
        throw Failure(Outcome::unreachable, text_of(endpoint) + ": no TLS: " +
                                                (why.empty() ? "the server closed the connection" : why));
      }
      wait_until_ready(descriptor_, what.status == Status::wants_read ? POLLIN : POLLOUT, patience,
                       text_of(endpoint));
    }
  }

  Transfer send(std::string_view bytes) override {
    std::size_t moved = 0;
    const int done = ::SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &moved);
    return outcome(done, moved);
  }
  Transfer receive(char* out, std::size_t bytes) override {
    std::size_t moved = 0;
    const int done = ::SSL_read_ex(session_.get(), out, bytes, &moved);
    return outcome(done, moved);
  }
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }

 private:
  Transfer outcome(int done, std::size_t moved) {
    if (done > 0) {
      return {Status::moved, moved};
    }
    const int error = errno;
    switch (::SSL_get_error(session_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        return {Status::wants_read};
      case SSL_ERROR_WANT_WRITE:
        return {Status::wants_write};
      case SSL_ERROR_ZERO_RETURN:
        return {Status::closed};
      case SSL_ERROR_SYSCALL:
        trouble_ = error == 0 ? "" : std::generic_category().message(error);
        ::ERR_clear_error();
        return {Status::closed};
      default:
        trouble_ = reason_of_openssl();
        return {Status::closed};
    }
  }

  int descriptor_;
  Context context_;
  Session session_;
  std::string trouble_;
};

}  // namespace

std::unique_ptr<Stream> encrypt(int descriptor, const Endpoint& endpoint, const TlsOptions& options,
                                Milliseconds patience) {
  auto stream = std::make_unique<TlsStream>(descriptor, options);
  stream->shake_hands(endpoint, options.insecure, patience);
  return stream;
}

}  // namespace mxkv::cli

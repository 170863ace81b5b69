#include "bench/client/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

namespace mxkv::bench {
namespace {

std::string take_error(const char* otherwise) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  std::string text = reason == nullptr ? otherwise : reason;
  ERR_clear_error();
  return text;
}

// OpenSSL's own function would raise SIGPIPE, and end the process, if the server has closed.
int write_socket(BIO* bio, const char* from, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), from, static_cast<std::size_t>(bytes), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

BIO_METHOD* make_socket_method() {
  const BIO_METHOD* const usual = BIO_s_socket();
  BIO_METHOD* const method = BIO_meth_new(BIO_TYPE_SOCKET, "a socket without signals");
  if (method == nullptr) {
    throw std::bad_alloc{};
  }
  BIO_meth_set_write(method, &write_socket);
  BIO_meth_set_read(method, BIO_meth_get_read(usual));
  BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(usual));
  BIO_meth_set_create(method, BIO_meth_get_create(usual));
  BIO_meth_set_destroy(method, BIO_meth_get_destroy(usual));
  return method;
}

}  // namespace

TlsClient::TlsClient() : context_(SSL_CTX_new(TLS_client_method())), socket_method_(make_socket_method()) {
  if (context_ == nullptr) {
    throw std::bad_alloc{};
  }
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  // The cheapest cipher first, for servers that follow the client's order.
  SSL_CTX_set_ciphersuites(context_,
                           "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context_, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_read_ahead(context_, 1);
}

TlsClient::~TlsClient() {
  SSL_CTX_free(context_);
  BIO_meth_free(socket_method_);
}

runtime::Result<std::shared_ptr<const TlsClient>> TlsClient::make(const TlsOptions& options) {
  const std::shared_ptr<TlsClient> client{new TlsClient};
  SSL_CTX* const context = client->context_;
  client->insecure_ = options.insecure;
  const auto failed = [](const std::string& file) {
    return runtime::Error{file + ": " + take_error("cannot be read")};
  };
  if (options.ca.empty() ? SSL_CTX_set_default_verify_paths(context) != 1
                         : SSL_CTX_load_verify_file(context, options.ca.c_str()) != 1) {
    return failed(options.ca);
  }
  if (!options.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str()) != 1) {
      return failed(options.certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return failed(options.key);
    }
  }
  ERR_clear_error();
  SSL_CTX_set_verify(context, options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  return std::shared_ptr<const TlsClient>{client};
}

TlsLink::TlsLink(std::shared_ptr<const TlsClient> client, int socket)
    : client_(std::move(client)), ssl_(SSL_new(client_->get())) {
  BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(client_->socket_method());
  if (bio == nullptr) {
    throw std::bad_alloc{};
  }
  BIO_set_fd(bio, socket, BIO_NOCLOSE);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_connect_state(ssl_);
}

TlsLink::~TlsLink() {
  SSL_free(ssl_);
}

runtime::Result<std::unique_ptr<TlsLink>> TlsLink::open(std::shared_ptr<const TlsClient> client, int socket,
                                                        const std::string& host) {
  std::unique_ptr<TlsLink> link{new TlsLink{std::move(client), socket}};
  if (!host.empty() && !link->client_->insecure()) {
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(link->ssl_);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {
      ERR_clear_error();
      SSL_set1_host(link->ssl_, host.c_str());
      SSL_set_tlsext_host_name(link->ssl_, host.c_str());
    }
  }
  if (SSL_do_handshake(link->ssl_) == 1) {
    return link;
  }
  const long verdict = SSL_get_verify_result(link->ssl_);
  std::string why = take_error("the server closed the connection");
  if (verdict != X509_V_OK) {
    why.append(": ").append(X509_verify_cert_error_string(verdict));
  }
  return runtime::Error{why};
}

long TlsLink::stopped() noexcept {
  more_ = false;
  const int error = SSL_get_error(ssl_, 0);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return -1;
  }
  broken_ = true;
  return error == SSL_ERROR_ZERO_RETURN ? 0 : -2;
}

long TlsLink::receive(char* to, std::size_t most) noexcept {
  std::size_t filled = 0;
  more_ = false;
  while (filled < most && !broken_) {
    std::size_t got = 0;
    if (SSL_read_ex(ssl_, to + filled, most - filled, &got) != 1) {
      const long how = stopped();
      return filled > 0 ? static_cast<long>(filled) : how;
    }
    filled += got;
    more_ = SSL_has_pending(ssl_) == 1;
    if (!more_) {
      break;
    }
  }
  return filled > 0 ? static_cast<long>(filled) : 0;
}

long TlsLink::send(const char* from, std::size_t bytes) noexcept {
  std::size_t sent = 0;
  while (sent < bytes && !broken_) {
    std::size_t some = 0;
    if (SSL_write_ex(ssl_, from + sent, bytes - sent, &some) != 1) {
      const long how = stopped();
      return sent > 0 ? static_cast<long>(sent) : how;
    }
    sent += some;
  }
  return static_cast<long>(sent);
}

}  // namespace mxkv::bench

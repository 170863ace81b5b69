#include "server/admin/http_stream.hpp"

#include <new>
#include <string>

#include "server/net/tls/openssl.hpp"

namespace mxkv::server {

// The stream takes over OpenSSL's connection object, which keeps the context alive.
HttpStream::HttpStream(const Executor& executor, const std::shared_ptr<const TlsContext>& tls)
    : plain_(executor) {
  if (tls == nullptr) {
    return;
  }
  SSL* const connection = SSL_new(tls->get());
  if (connection == nullptr) {
    ERR_clear_error();
    throw std::bad_alloc{};
  }
  tls_.emplace(plain_, connection);
}

std::string HttpStream::reason_of(const Error& error) {
  const long verdict = SSL_get_verify_result(tls_->native_handle());
  if (error == asio::ssl::error::stream_truncated || error == asio::error::eof) {
    return "the client left";
  }
  if (error == beast::error::timeout) {
    return "it took too long";
  }
  const bool refused =
      error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  return error.message() +
         (refused && verdict != X509_V_OK ? std::string{": "} + X509_verify_cert_error_string(verdict) : "");
}

bool HttpStream::is_plain_http(const Error& error) noexcept {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace mxkv::server

// The only place that includes OpenSSL; for the sources of this folder, never for its public headers.
//
// OpenSSL keeps its errors in a queue for each thread. After a failed call the caller takes them out at once,
// so that the queue is empty whenever a call begins.
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <string>

namespace mxkv::server {

/// OpenSSL's reason for the last failure. Empties its queue. Empty: no reason is known.
inline std::string take_openssl_error() {
  std::string text;
  if (const char* const reason = ERR_reason_error_string(ERR_peek_error()); reason != nullptr) {
    text = reason;
  }
  ERR_clear_error();
  return text;
}

}  // namespace mxkv::server

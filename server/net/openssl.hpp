// The only place of this folder that includes OpenSSL; for its sources, never for its public headers.
//
// Its errors are in a queue of each thread. Whoever makes a call that fails takes them out at once, so that the
// queue is empty whenever a call begins.
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

/// What OpenSSL says of the call that just failed; its queue is empty then. Empty: it says nothing.
inline std::string take_openssl_error() {
  std::string text;
  if (const char* const reason = ERR_reason_error_string(ERR_peek_error()); reason != nullptr) {
    text = reason;
  }
  ERR_clear_error();
  return text;
}

}  // namespace mxkv::server

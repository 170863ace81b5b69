#include "server/net/users/password.hpp"

#include <crypt.h>
#include <sys/random.h>

#include <memory>
#include <stdexcept>

#include "server/net/tls/openssl.hpp"

namespace mxkv::server {

PasswordDigester::PasswordDigester() {
  if (::getrandom(key_.data(), key_.size(), 0) != static_cast<ssize_t>(key_.size())) {
    throw std::runtime_error("the system gives no random bytes");
  }
}

PasswordDigest PasswordDigester::digest(std::string_view password) const noexcept {
  PasswordDigest made{};
  unsigned bytes = kDigestBytes;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(password.data()), password.size(), made.data(), &bytes);
  return made;
}

bool same_digest(const PasswordDigest& a, const PasswordDigest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_hash_of(const std::string& hash, const std::string& password) {
  const auto scratch = std::make_unique<crypt_data>();  // 32 KiB
  const char* const made = crypt_r(password.c_str(), hash.c_str(), scratch.get());
  const std::string_view text = made == nullptr ? "*" : made;
  const bool same = text.size() == hash.size() && CRYPTO_memcmp(text.data(), hash.data(), hash.size()) == 0;
  OPENSSL_cleanse(scratch.get(), sizeof(crypt_data));
  // crypt reads the password up to a NUL only, so anything behind one would be accepted.
  return same && !text.starts_with('*') && password.find('\0') == std::string::npos;
}

std::string hash_password(const std::string& password) {
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> salt{};
  if (crypt_gensalt_rn("$y$", 0, nullptr, 0, salt.data(), static_cast<int>(salt.size())) == nullptr) {
    return {};
  }
  const auto scratch = std::make_unique<crypt_data>();
  const char* const made = crypt_r(password.c_str(), salt.data(), scratch.get());
  std::string hash = made == nullptr || *made == '*' ? "" : made;
  OPENSSL_cleanse(scratch.get(), sizeof(crypt_data));
  return hash;
}

void wipe(std::string& text) noexcept {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace mxkv::server

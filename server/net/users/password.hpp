// Passwords: hashes of crypt(5), and digests that recognize a verified password at once.
//
// A hash of crypt takes milliseconds on purpose. A digest takes a microsecond. It is an HMAC whose key only
// this process has, so it is useless to anybody who steals it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::server {

inline constexpr std::size_t kDigestBytes = 32;
using PasswordDigest = std::array<std::uint8_t, kDigestBytes>;

/// Makes digests; each object has its own key. Thread-safety: any thread.
class PasswordDigester {
 public:
  /// Throws std::runtime_error when the system has no random bytes.
  PasswordDigester();

  [[nodiscard]] PasswordDigest digest(std::string_view password) const noexcept;

 private:
  std::array<std::uint8_t, kDigestBytes> key_{};
};

/// Compares in constant time.
[[nodiscard]] bool same_digest(const PasswordDigest& a, const PasswordDigest& b) noexcept;

/// Whether `hash` is a hash of `password`. Takes milliseconds, and a MiB or more. Any thread.
[[nodiscard]] bool is_hash_of(const std::string& hash, const std::string& password);

/// A new yescrypt hash; empty: the system cannot make one. Any thread.
[[nodiscard]] std::string hash_password(const std::string& password);

/// Overwrites the text and empties it.
void wipe(std::string& text) noexcept;

}  // namespace mxkv::server

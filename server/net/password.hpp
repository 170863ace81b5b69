// Passwords: hashes of crypt(5), and digests by which a password that was verified is known again at once.
//
// A hash of crypt takes milliseconds on purpose. A digest is an HMAC by a key that only this process has: it tells
// nothing to who finds it elsewhere, and takes a microsecond.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::server {

inline constexpr std::size_t kDigestBytes = 32;
using PasswordDigest = std::array<std::uint8_t, kDigestBytes>;

/// Makes digests; each has a key of its own. Thread-safety: any thread.
class PasswordDigester {
 public:
  /// Throws std::runtime_error when the system has no random bytes.
  PasswordDigester();

  [[nodiscard]] PasswordDigest digest(std::string_view password) const noexcept;

 private:
  std::array<std::uint8_t, kDigestBytes> key_{};
};

/// Takes as long for any two.
[[nodiscard]] bool same_digest(const PasswordDigest& a, const PasswordDigest& b) noexcept;

/// Whether `hash` is of `password`. Takes milliseconds, and a MiB or more. Any thread.
[[nodiscard]] bool is_hash_of(const std::string& hash, const std::string& password);

/// A new hash by yescrypt; empty: the system makes none. Any thread.
[[nodiscard]] std::string hash_password(const std::string& password);

/// Leaves no bytes of it behind.
void wipe(std::string& text) noexcept;

}  // namespace mxkv::server

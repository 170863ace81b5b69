// Keys as memcached writes them in dumps and logs: encoded as in a URI.
#pragma once

#include <string_view>

namespace mxkv::server {

/// Bytes that a URI keeps: letters, digits, and four signs.
[[nodiscard]] constexpr bool stays_in_uri(char byte) noexcept {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
         byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

/// Needs three bytes of room for each byte of the key. Returns the end.
inline char* write_in_uri(char* out, std::string_view key) noexcept {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char byte : key) {
    if (stays_in_uri(byte)) {
      *out++ = byte;
    } else {
      const auto number = static_cast<unsigned char>(byte);
      *out++ = '%';
      *out++ = kDigits[number >> 4U];
      *out++ = kDigits[number & 15U];
    }
  }
  return out;
}

}  // namespace mxkv::server

// The replies of the classic text protocol: fixed lines, and writers that append to a caller's buffer and
// return the new end. The caller provides the room; each writer says how much it needs at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"

namespace mxkv::protocol {

inline constexpr std::string_view kStored = "STORED\r\n";
inline constexpr std::string_view kNotStored = "NOT_STORED\r\n";
inline constexpr std::string_view kExists = "EXISTS\r\n";
inline constexpr std::string_view kNotFound = "NOT_FOUND\r\n";
inline constexpr std::string_view kDeleted = "DELETED\r\n";
inline constexpr std::string_view kTouched = "TOUCHED\r\n";
inline constexpr std::string_view kOk = "OK\r\n";
inline constexpr std::string_view kEnd = "END\r\n";
inline constexpr std::string_view kReset = "RESET\r\n";
inline constexpr std::string_view kError = "ERROR\r\n";
inline constexpr std::string_view kBadFormat = "CLIENT_ERROR bad command line format\r\n";
inline constexpr std::string_view kBadDataChunk = "CLIENT_ERROR bad data chunk\r\n";
inline constexpr std::string_view kBadDelta = "CLIENT_ERROR invalid numeric delta argument\r\n";
inline constexpr std::string_view kBadExptime = "CLIENT_ERROR invalid exptime argument\r\n";
inline constexpr std::string_view kBadDelete =
    "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
inline constexpr std::string_view kBadEncoding = "CLIENT_ERROR error decoding key\r\n";
inline constexpr std::string_view kBadCursor = "CLIENT_ERROR bad cursor\r\n";
inline constexpr std::string_view kNonNumeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache\r\n";
inline constexpr std::string_view kOutOfMemory = "SERVER_ERROR out of memory storing object\r\n";
inline constexpr std::string_view kBinaryKey = "SERVER_ERROR binary key, use mr\r\n";
inline constexpr std::string_view kTooManyConnections = "ERROR Too many open connections\r\n";
inline constexpr std::string_view kCrLf = "\r\n";

/// Most digits of a 64-bit number.
inline constexpr std::size_t kMaxDigits = 20;
/// Room for value_header() with a key of kMaxKeyBytes in base64.
inline constexpr std::size_t kMaxHeaderBytes = 6 + 336 + 1 + 10 + 1 + kMaxDigits + 1 + kMaxDigits + 2;

inline char* write_text(char* out, std::string_view text) noexcept {
  return out + text.copy(out, text.size());
}

/// write_number() of any value.
char* write_long_number(char* out, std::uint64_t value) noexcept;
/// Decimal digits of `value`; needs kMaxDigits.
inline char* write_number(char* out, std::uint64_t value) noexcept {
  if (value < 10) {  // as most flags are
    *out = static_cast<char>('0' + value);
    return out + 1;
  }
  return write_long_number(out, value);
}

/// "VALUE <key> <flags> <bytes>\r\n", with " <cas>" before the end if `cas` is not null. Needs
/// kMaxHeaderBytes.
char* write_value_header(char* out, std::string_view key, std::uint32_t flags, std::uint64_t bytes,
                         const std::uint64_t* cas) noexcept;
/// "KEY <key>\r\n". Needs kMaxHeaderBytes.
char* write_key_line(char* out, std::string_view key) noexcept;

/// Whether the classic form can carry the key: no byte <= 0x20, no 0x7f.
[[nodiscard]] bool is_printable_key(std::string_view key) noexcept;

/// Base64 (RFC 4648, padded); needs 4 * ((bytes + 2) / 3).
char* write_base64(char* out, std::string_view bytes) noexcept;
/// Decodes into `out` (room for text.size() / 4 * 3); false if it is not base64. `bytes` gets the length.
[[nodiscard]] bool read_base64(std::string_view text, char* out, std::size_t& bytes) noexcept;

}  // namespace mxkv::protocol

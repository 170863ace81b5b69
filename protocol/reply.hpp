// The replies of the classic text protocol: fixed lines, and writers that append to a caller's buffer and
// return the new end. The caller provides the room; each writer says how much it needs at most.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "protocol/request.hpp"
#include "protocol/words.hpp"

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
inline constexpr std::string_view kBareEnd =
    "CLIENT_ERROR the end of the range must begin with [ or (, or be - or +\r\n";
inline constexpr std::string_view kForeignCursor = "CLIENT_ERROR the cursor leads out of the range\r\n";
inline constexpr std::string_view kNonNumeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache\r\n";
inline constexpr std::string_view kOutOfMemory = "SERVER_ERROR out of memory storing object\r\n";
inline constexpr std::string_view kNoInputMemory = "SERVER_ERROR out of memory reading request\r\n";
inline constexpr std::string_view kNoReplyMemory = "SERVER_ERROR out of memory writing response\r\n";
inline constexpr std::string_view kNoForwardMemory = "SERVER_ERROR out of memory forwarding\r\n";
/// The beginning of a sentence: the request may have been executed, or may be yet.
inline constexpr std::string_view kOutcomeUnknown = "SERVER_ERROR outcome unknown";
inline constexpr std::string_view kBinaryKey = "SERVER_ERROR binary key, use mr\r\n";
inline constexpr std::string_view kShutdownOff = "SERVER_ERROR: shutdown not enabled\r\n";
inline constexpr std::string_view kBadShutdown = "CLIENT_ERROR invalid shutdown mode\r\n";
inline constexpr std::string_view kBadName =
    "CLIENT_ERROR a client name has at most 64 letters, digits and signs\r\n";
inline constexpr std::string_view kTooManyWatchers = "WATCHER_TOO_MANY log watcher limit reached\r\n";
// Of authentication.
inline constexpr std::string_view kUnauthenticated = "CLIENT_ERROR unauthenticated\r\n";
inline constexpr std::string_view kLongLogin = "CLIENT_ERROR auth token too long\r\n";
inline constexpr std::string_view kBadLoginEnd = "CLIENT_ERROR bad command line termination\r\n";
inline constexpr std::string_view kBadLogin = "CLIENT_ERROR bad authentication token format\r\n";
inline constexpr std::string_view kWrongLogin = "CLIENT_ERROR authentication failure\r\n";
inline constexpr std::string_view kBusyLogin = "SERVER_ERROR too many logins are waiting\r\n";
inline constexpr std::string_view kTooManyOfUser = "SERVER_ERROR too many connections of this user\r\n";
inline constexpr std::string_view kForbidden = "CLIENT_ERROR forbidden\r\n";
inline constexpr std::string_view kWantsTls = "ERROR this listener speaks TLS only\r\n";
inline constexpr std::string_view kTooManyConnections = "ERROR Too many open connections\r\n";
// Of meta commands.
inline constexpr std::string_view kMetaNoop = "MN\r\n";
inline constexpr std::string_view kMetaMiss = "EN\r\n";
inline constexpr std::string_view kMetaDone = "HD\r\n";
inline constexpr std::string_view kDuplicateFlag = "CLIENT_ERROR duplicate flag\r\n";
inline constexpr std::string_view kInvalidFlag = "CLIENT_ERROR invalid flag\r\n";
inline constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format\r\n";
inline constexpr std::string_view kLongOpaque = "CLIENT_ERROR opaque token too long\r\n";
inline constexpr std::string_view kTooManyFlags = "CLIENT_ERROR options flags are too long\r\n";
inline constexpr std::string_view kBadInitial = "CLIENT_ERROR invalid numeric initial value\r\n";
inline constexpr std::string_view kBadMetaDelta = "CLIENT_ERROR invalid numeric delta value\r\n";
inline constexpr std::string_view kBadMetaSetMode = "CLIENT_ERROR invalid mode for ms M token\r\n";
inline constexpr std::string_view kBadMetaArithmeticMode = "CLIENT_ERROR invalid mode for ma M token\r\n";
inline constexpr std::string_view kBadMetaArithmetic = "CLIENT_ERROR invalid or duplicate flag\r\n";

// Of ranges in the meta form.
inline constexpr std::string_view kPrefixHasNoBound = "CLIENT_ERROR p excludes H, i and o\r\n";
inline constexpr std::string_view kBadCountFlags = "CLIENT_ERROR A, U and k need D, M excludes D\r\n";
inline constexpr std::string_view kNotBackward = "CLIENT_ERROR mx does not allow r\r\n";
inline constexpr std::string_view kLockedCount = "CLIENT_ERROR X excludes D\r\n";
inline constexpr std::string_view kLockedDelete = "CLIENT_ERROR X excludes G and U\r\n";
inline constexpr std::string_view kTouchNeedsTime = "CLIENT_ERROR mt needs T\r\n";
// Of watches of ranges.
inline constexpr std::string_view kWatchNeedsName = "CLIENT_ERROR mw needs O\r\n";
inline constexpr std::string_view kUnwatchNeedsName = "CLIENT_ERROR mu needs O\r\n";
inline constexpr std::string_view kNoWatchState =
    "CLIENT_ERROR mw does not send the state yet: begin the watch without S, then read the range by mr\r\n";
inline constexpr std::string_view kWatchesAlready = "CLIENT_ERROR this name watches already\r\n";
inline constexpr std::string_view kBadPosition = "CLIENT_ERROR bad position\r\n";
inline constexpr std::string_view kNoExpiredWatch =
    "CLIENT_ERROR mw does not tell of expiry yet: leave x out of M\r\n";
inline constexpr std::string_view kTooManyWatches = "SERVER_ERROR too many watches\r\n";
inline constexpr std::string_view kWatchNeverBegan = "SERVER_ERROR the watch ended before it began\r\n";
inline constexpr std::string_view kNoWatches = "SERVER_ERROR mw does not work in a cluster\r\n";
/// For mc and mx with X, and for mt: more keys than A, or the server, allows.
inline constexpr std::string_view kTooManyKeys = "CLIENT_ERROR too many keys in the range\r\n";

// Of batches.
inline constexpr std::string_view kNotInBatch = "CLIENT_ERROR not allowed in a batch\r\n";
inline constexpr std::string_view kBatchLines = "CLIENT_ERROR too many lines in a batch\r\n";
inline constexpr std::string_view kBatchBytes = "CLIENT_ERROR too many value bytes in a batch\r\n";

inline constexpr std::string_view kCrLf = "\r\n";
inline constexpr std::string_view kCrLfEnd = "\r\nEND\r\n";

/// Most digits of a 64-bit number.
inline constexpr std::size_t kMaxDigits = 20;
/// Room for value_header() with a key of kMaxKeyBytes in base64.
inline constexpr std::size_t kMaxHeaderBytes = 6 + 336 + 1 + 10 + 1 + kMaxDigits + 1 + kMaxDigits + 2;

inline char* write_text(char* out, std::string_view text) noexcept {
  if (!text.empty()) {  // an empty text may have a null address
    std::memcpy(out, text.data(), text.size());
  }
  return out + text.size();
}

/// write_text() of Part to 2 * Part bytes: two copies of fixed length that overlap in the middle.
template <std::size_t Part>
char* write_ends(char* out, std::string_view text) noexcept {
  const std::size_t rest = text.size() - Part;
  std::memcpy(out, text.data(), Part);
  std::memcpy(out + rest, text.data() + rest, Part);
  return out + text.size();
}

/// write_text() for texts that are usually short, like keys: no call.
[[gnu::always_inline]] inline char* write_short_text(char* out, std::string_view text) noexcept {
  const std::size_t bytes = text.size();
  if (bytes - 16 <= 16) [[likely]] {
    return write_ends<16>(out, text);
  }
  if (bytes > 64) [[unlikely]] {
    return write_text(out, text);
  }
  if (bytes >= 32) {
    return write_ends<32>(out, text);
  }
  if (bytes >= 8) {
    return write_ends<8>(out, text);
  }
  return bytes >= 4 ? write_ends<4>(out, text) : write_text(out, text);
}

/// write_text() for texts of up to some hundred bytes, like most values: no call.
[[gnu::always_inline]] inline char* write_middling_text(char* out, std::string_view text) noexcept {
  constexpr std::size_t kPart = 64;
  if (text.size() <= kPart) {
    return write_short_text(out, text);
  }
  if (text.size() <= 2 * kPart) [[likely]] {
    return write_ends<kPart>(out, text);
  }
  const char* from = text.data();
  char* const end = out + text.size();
  for (; static_cast<std::size_t>(end - out) > kPart; out += kPart, from += kPart) {
    std::memcpy(out, from, kPart);
  }
  std::memcpy(end - kPart, text.data() + text.size() - kPart, kPart);
  return end;
}

/// The digits of a number below 1000, and how many.
struct SmallNumber {
  char text[3];
  std::uint8_t digits;
};
extern const std::array<SmallNumber, 1000> kSmallNumbers;

/// write_number() of any value.
char* write_long_number(char* out, std::uint64_t value) noexcept;
/// Decimal digits of `value`; needs kMaxDigits.
inline char* write_number(char* out, std::uint64_t value) noexcept {
  if (value < kSmallNumbers.size()) [[likely]] {  // as flags and lengths are
    const SmallNumber& number = kSmallNumbers[value];
    std::memcpy(out, &number, sizeof number);  // the next write overwrites the bytes behind the digits
    return out + number.digits;
  }
  return write_long_number(out, value);
}

/// "VALUE <key> <flags> <bytes>\r\n", with " <cas>" before the end if `cas` is not null. Needs
/// kMaxHeaderBytes.
[[gnu::always_inline]] inline char* write_value_header(char* out, std::string_view key, std::uint32_t flags,
                                                       std::uint64_t bytes,
                                                       const std::uint64_t* cas) noexcept {
  out = write_short_text(write_text(out, "VALUE "), key);
  *out++ = ' ';
  out = write_number(out, flags);
  *out++ = ' ';
  out = write_number(out, bytes);
  if (cas != nullptr) {
    *out++ = ' ';
    out = write_number(out, *cas);
  }
  return write_text(out, kCrLf);
}

/// "KEY <key>\r\n". Needs kMaxHeaderBytes.
char* write_key_line(char* out, std::string_view key) noexcept;

/// Whether the classic form can carry the key.
[[nodiscard]] inline bool is_printable_key(std::string_view key) noexcept {
  return all_key_bytes(key) || std::all_of(key.begin(), key.end(), is_key_byte);
}

/// Base64 (RFC 4648, padded); needs 4 * ((bytes + 2) / 3).
char* write_base64(char* out, std::string_view bytes) noexcept;
/// Decodes into `out` (room for text.size() / 4 * 3); false if it is not base64. `bytes` gets the length.
[[nodiscard]] bool read_base64(std::string_view text, char* out, std::size_t& bytes) noexcept;

}  // namespace mxkv::protocol

// Keys as YCSB makes them: "user" + the decimal FNV-64 hash of the record's number, zero-padded to a width.
//
// The hash number in a key stands for the key everywhere else (values, checks), so a key that comes back in a
// scan can be verified without knowing which record number it belongs to. YCSB's default width is 1 (keys of
// 21 to 23 bytes); width 20 gives keys of exactly 24 bytes whose text order is their numeric order.
// Not done: insertorder=ordered, and Java's negative abs(Long.MIN_VALUE), which no record below 2^40 hits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mxkv::bench {

/// FNV-64 begins with this, and takes in one byte after the other.
inline constexpr std::uint64_t kFnvBegin = 0xCBF29CE484222325ULL;
constexpr std::uint64_t fnv_with(std::uint64_t hash, std::uint64_t byte) noexcept {
  return (hash ^ byte) * 1099511628211ULL;
}

/// YCSB's Utils.fnvhash64: FNV over the eight bytes of `value`, lowest first, then the absolute value.
constexpr std::uint64_t fnv_hash64(std::uint64_t value) noexcept {
  std::uint64_t hash = kFnvBegin;
  for (int octet = 0; octet < 8; ++octet) {
    hash = fnv_with(hash, value & 0xFF);
    value >>= 8;
  }
  return (hash >> 63) != 0 ? ~hash + 1 : hash;
}

/// The text of keys. Thread-safety: any thread (it is a constant).
class KeyFormat {
 public:
  static constexpr std::size_t kMaxBytes = 250;
  static constexpr std::string_view kPrefix = "user";
  static constexpr std::size_t kMaxPadding = kMaxBytes - kPrefix.size();

  /// `zero_padding`: least number of digits, at most kMaxPadding.
  explicit KeyFormat(std::size_t zero_padding) noexcept : zero_padding_(zero_padding) {}

  /// Writes the key of `hash` (below 2^63) to `out` (room for kMaxBytes) and returns its length in bytes.
  std::size_t write(std::uint64_t hash, char* out) const noexcept;
  /// The hash whose key is exactly `key`, or nothing if `key` is no key of this format.
  [[nodiscard]] std::optional<std::uint64_t> parse(std::string_view key) const noexcept;
  /// Whether the key of `left` sorts before the key of `right` by memcmp.
  [[nodiscard]] bool before(std::uint64_t left, std::uint64_t right) const noexcept;

 private:
  /// Writes the digits of a hash below 10^16; returns their number.
  std::size_t write_short(std::uint64_t hash, char* out) const noexcept;

  std::size_t zero_padding_;
};

}  // namespace mxkv::bench

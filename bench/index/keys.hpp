// Keys and values, computed from the number of a record, so that each result can be verified.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mxkv::bench {

/// Records from here on have keys that ascend, behind all keys in random order but the odd one.
inline constexpr std::uint64_t kFirstAscending = ~std::uint64_t{0} << 33U;
inline constexpr std::uint64_t kHalfAscending = std::uint64_t{1} << 32U;

/// All keys differ. Those of the records before kFirstAscending come in random order, by a bijection on 64 bits.
inline std::uint64_t key_of(std::uint64_t record) noexcept {
  if (record >= kFirstAscending) {
    return record;
  }
  record = (record ^ (record >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  record = (record ^ (record >> 27U)) * 0x94D049BB133111EBULL;
  return record ^ (record >> 31U);
}

/// Writes 16 hexadecimal digits, highest first, so that texts sort as their numbers do.
inline void write_hex(std::uint64_t number, char* out) noexcept {
  for (unsigned half = 0; half < 2; ++half) {
    // The nibbles of 32 bits spread over eight bytes, the highest into the highest byte.
    std::uint64_t digits = half == 0 ? number >> 32U : number & 0xFFFFFFFFU;
    digits = (digits | digits << 16U) & 0x0000FFFF0000FFFFULL;
    digits = (digits | digits << 8U) & 0x00FF00FF00FF00FFULL;
    digits = (digits | digits << 4U) & 0x0F0F0F0F0F0F0F0FULL;
    const std::uint64_t letters = ((digits + 0x0606060606060606ULL) >> 4U) & 0x0101010101010101ULL;
    digits += 0x3030303030303030ULL + letters * ('a' - '0' - 10);
    const std::uint64_t text = __builtin_bswap64(digits);
    std::memcpy(out + std::size_t{8} * half, &text, sizeof text);
  }
}

/// A key of `Bytes` bytes. Keys of 24 bytes are as the load client's, "user" and 20 digits (hexadecimal ones,
/// which are made faster). Longer keys fall into 4096 groups that share all but their last 16 bytes, as names
/// below one path do; ascending ones are a group of their own.
template <std::size_t Bytes>
class TextKey {
 public:
  static_assert(Bytes == 24 || Bytes >= 64);
  TextKey() = default;
  explicit TextKey(std::uint64_t record) noexcept {
    const std::uint64_t number = key_of(record);
    if constexpr (Bytes == 24) {
      std::memcpy(text_, "user", 4);
      write_hex(number, text_ + 4);
      std::memcpy(text_ + 20, text_ + 16, 4);
    } else {
      std::memcpy(text_, "user:id:", 8);
      write_hex(key_of(record < kFirstAscending ? record % 4096 : kFirstAscending), text_ + 8);
      std::memset(text_ + 24, '/', Bytes - 40);
      write_hex(number, text_ + Bytes - 16);
    }
  }
  static constexpr std::size_t kBytes = Bytes;
  [[nodiscard]] std::string_view view() const noexcept { return {text_, Bytes}; }
  [[nodiscard]] std::string_view first(std::size_t bytes) const noexcept { return {text_, bytes}; }
  /// Becomes another text of at most kBytes; returns its length.
  std::size_t set(std::string_view text) noexcept {
    std::memmove(text_, text.data(), text.size());
    return text.size();
  }

 private:
  char text_[Bytes];
};

inline constexpr std::size_t kTextValueBytes = 100;

namespace detail {
/// The word that fills the value of a key of at least 16 bytes.
inline std::uint64_t value_word(std::string_view key) noexcept {
  std::uint64_t words[2];
  std::memcpy(words, key.data() + key.size() - sizeof words, sizeof words);
  return words[0] * 0x9E3779B97F4A7C15ULL + words[1];
}
}  // namespace detail

/// Writes the value of `key`, kTextValueBytes long.
inline void write_value(std::string_view key, char* out) noexcept {
  const std::uint64_t word = detail::value_word(key);
  for (std::size_t at = 0; at < kTextValueBytes - 4; at += 8) {
    std::memcpy(out + at, &word, 8);
  }
  std::memcpy(out + kTextValueBytes - 4, &word, 4);
}

/// Whether `value` is the value of `key`: reads all of it.
inline bool is_value(std::string_view key, std::string_view value) noexcept {
  if (value.size() != kTextValueBytes) {
    return false;
  }
  const std::uint64_t word = detail::value_word(key);
  std::uint64_t differences = 0;
  for (std::size_t at = 0; at < kTextValueBytes - 4; at += 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, value.data() + at, 8);
    differences |= part ^ word;
  }
  std::uint32_t last = 0;
  std::memcpy(&last, value.data() + kTextValueBytes - 4, 4);
  return (differences | (last ^ (word & 0xFFFFFFFFU))) == 0;
}

}  // namespace mxkv::bench

// Strict decimal numbers (rule 10): digits alone, a leading '-' where a sign has a meaning, nothing before or
// behind. A number that does not fit is an error, never cut off. Leading zeros are digits like others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "protocol/words.hpp"

namespace mxkv::protocol {

/// Marks bytes above 9. In text that was xor-ed with '0' these are the bytes that are no digits.
[[nodiscard]] constexpr std::uint64_t mark_above_nine(std::uint64_t word) noexcept {
  return ((word + kEachByte * 0x76U) | word) & kHighBits;
}

/// The number made of eight bytes of 0 to 9, the last in the topmost byte.
[[nodiscard]] constexpr std::uint64_t word_value(std::uint64_t word) noexcept {
  word = word * 10 + (word >> 8U);                                   // pairs of digits, in every second byte
  word = (word & 0x00ff00ff00ff00ffU) * (1 + (100U << 16U)) >> 16U;  // fours, in every fourth byte
  return (word & 0x0000ffff0000ffffU) * (1 + (std::uint64_t{10000} << 32U)) >> 32U;
}

/// Up to 8 digits at once. False if `text` is empty, longer, or holds anything but digits.
[[nodiscard]] inline bool read_short_number(std::string_view text, std::uint64_t& value) noexcept {
  const std::size_t digits = text.size();
  if (digits - 1 >= 8) {
    return false;
  }
  std::uint64_t word = load_text(text);
  // Move the digits up so that the last one is the topmost byte: the bytes before the first are zero digits.
  word <<= 64 - 8 * digits;
  const std::uint64_t zeros = digits == 8 ? 0 : (kEachByte * '0') >> (8 * digits);
  word |= zeros;
  // A digit keeps its high half when 6 is added; nothing else with that high half does.
  if (((word & (kEachByte * 0xf0U)) | (((word + kEachByte * 6U) & (kEachByte * 0xf0U)) >> 4U)) !=
      kEachByte * 0x33U) {
    return false;
  }
  value = word_value(word & (kEachByte * 0x0fU));
  return true;
}

/// Any number of digits up to the largest 64-bit number.
[[nodiscard]] bool read_long_number(std::string_view text, std::uint64_t& value) noexcept;

[[nodiscard]] inline bool read_u64(std::string_view text, std::uint64_t& value) noexcept {
  return text.size() <= 8 ? read_short_number(text, value) : read_long_number(text, value);
}

[[nodiscard]] inline bool read_u32(std::string_view text, std::uint32_t& value) noexcept {
  std::uint64_t wide = 0;
  if (!read_u64(text, wide) || wide > std::numeric_limits<std::uint32_t>::max()) {
    return false;
  }
  value = static_cast<std::uint32_t>(wide);
  return true;
}

[[nodiscard]] inline bool read_i64(std::string_view text, std::int64_t& value) noexcept {
  const bool negative = !text.empty() && text.front() == '-';
  std::uint64_t size = 0;
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  if (!read_u64(negative ? text.substr(1) : text, size) || size > largest + (negative ? 1 : 0)) {
    return false;
  }
  value = static_cast<std::int64_t>(negative ? 0 - size : size);  // modulo 2^64: also right for the smallest
  return true;
}

}  // namespace mxkv::protocol

// Text eight bytes at a time (keys sixteen, where SSE2 is the baseline): loads that never leave the text, and
// searches that cost one branch a word.
//
// A search makes a mask whose lowest set bit is in the first byte that matches. Bits above it may be false
// (borrows run upwards), so only the lowest is ever used. The masks assume the first byte in the lowest bits;
// load_word() arranges that on any machine.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace mxkv::protocol {

inline constexpr std::uint64_t kEachByte = 0x0101010101010101U;
inline constexpr std::uint64_t kHighBits = 0x8080808080808080U;

/// `value` as if its bytes in memory had been loaded first byte lowest.
[[nodiscard]] inline std::uint64_t first_byte_lowest(std::uint64_t value) noexcept {
  if constexpr (std::endian::native == std::endian::big) {
    value = __builtin_bswap64(value);
  }
  return value;
}

/// The 8 bytes at `text`.
[[nodiscard]] inline std::uint64_t load_word(const char* text) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  return first_byte_lowest(word);
}

/// The `bytes` (0 to 7) bytes at `text`, zeros above them. Reads nothing else: overlapping pieces are or-ed.
[[nodiscard]] inline std::uint64_t load_short(const char* text, std::size_t bytes) noexcept {
  const auto at = [text](std::size_t index) {
    return std::uint64_t{static_cast<unsigned char>(text[index])} << (8 * index);
  };
  if (bytes >= 4) {
    std::uint64_t word = 0;
    std::memcpy(&word, text, 4);
    const std::uint64_t low = first_byte_lowest(word);
    std::memcpy(&word, text + bytes - 4, 4);
    return low | first_byte_lowest(word) << (8 * (bytes - 4));
  }
  return bytes == 0 ? 0 : at(0) | at(bytes / 2) | at(bytes - 1);
}

/// `text` of 0 to 8 bytes, zeros above it.
[[nodiscard]] inline std::uint64_t load_text(std::string_view text) noexcept {
  const char* const begin = text.data();
  return text.size() == 8 ? load_word(begin) : load_short(begin, text.size());
}

/// Marks bytes equal to `byte`.
[[nodiscard]] constexpr std::uint64_t mark_equal(std::uint64_t word, char byte) noexcept {
  const std::uint64_t zeros = word ^ (kEachByte * static_cast<unsigned char>(byte));
  return (zeros - kEachByte) & ~zeros & kHighBits;
}

/// Marks bytes that usual text keys do not hold: <= 0x20, and 0x7f.
[[nodiscard]] constexpr std::uint64_t mark_not_key(std::uint64_t word) noexcept {
  return (((word - kEachByte * 0x21U) & ~word) & kHighBits) | mark_equal(word, 0x7f);
}

/// Which byte the lowest set bit of `marks` (not 0) is in.
[[nodiscard]] constexpr std::size_t first_marked(std::uint64_t marks) noexcept {
  return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
}

#ifdef __SSE2__
/// The same for the 16 bytes at `text`: sets all bits of each marked byte, and no others.
[[nodiscard]] inline __m128i marks_not_key(const char* text) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const __m128i up_to_space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
  return _mm_or_si128(up_to_space, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
}
#endif

/// The first byte in [text, end) that a usual text key does not hold, or `end`.
[[nodiscard]] inline const char* find_not_key(const char* text, const char* end) noexcept {
#ifdef __SSE2__
  for (; end - text >= 16; text += 16) {
    const int marks = _mm_movemask_epi8(marks_not_key(text));
    if (marks != 0) {
      return text + std::countr_zero(static_cast<unsigned>(marks));
    }
  }
#endif
  while (end - text >= 8) {
    const std::uint64_t marks = mark_not_key(load_word(text));
    if (marks != 0) {
      return text + first_marked(marks);
    }
    text += 8;
  }
  // The zeros behind a short load are marked too, so that this always ends at `end` at the latest.
  return text + first_marked(mark_not_key(load_short(text, static_cast<std::size_t>(end - text))));
}

/// Whether a key of a classic command may hold `byte`: any byte but NUL and those that end a word or the
/// line.
[[nodiscard]] constexpr bool is_key_byte(char byte) noexcept {
  return byte != '\0' && byte != ' ' && byte != '\r' && byte != '\n';
}

/// Whether `text` has no byte that find_not_key() finds. Faster than find_not_key(), because the last 16
/// bytes compared overlap those before.
[[nodiscard]] inline bool all_key_bytes(std::string_view text) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
#ifdef __SSE2__
  if (text.size() >= 16) [[likely]] {
    __m128i marks = marks_not_key(end - 16);
    for (const char* at = begin; at < end - 16; at += 16) {
      marks = _mm_or_si128(marks, marks_not_key(at));
    }
    return _mm_movemask_epi8(marks) == 0;
  }
#endif
  return find_not_key(begin, end) == end;
}

/// Copies a text of 16 to 32 bytes to `out`. False: it has a byte up to a space, so that it may be no key of a
/// classic command. Else is_key_byte() holds for each byte.
[[nodiscard, gnu::always_inline]] inline bool copy_key_to_32(char* out, const char* text,
                                                             std::size_t bytes) noexcept {
  const std::size_t rest = bytes - 16;
#ifdef __SSE2__
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + rest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + rest), last);
  const __m128i least = _mm_min_epu8(first, last);
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(least, _mm_set1_epi8(0x20)), least)) == 0;
#else
  std::memcpy(out, text, 16);
  std::memcpy(out + rest, text + rest, 16);
  return all_key_bytes({text, bytes});
#endif
}

/// load_text() of a constant: verbs are compared as numbers.
[[nodiscard]] constexpr std::uint64_t word_of(std::string_view text) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = text.size(); i > 0; --i) {
    word = word << 8U | static_cast<unsigned char>(text[i - 1]);
  }
  return word;
}

}  // namespace mxkv::protocol

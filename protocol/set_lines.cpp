#include "protocol/set_lines.hpp"

#include <cstring>

#include "protocol/key_end.hpp"
#include "protocol/numbers.hpp"
#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kSetWord = "set ";
constexpr std::string_view kMetaSetWord = "ms ";
constexpr std::uint64_t kNoFlagsNoTime = word_of(" 0 0 ");
constexpr std::size_t kBytesOfThat = 5;
constexpr std::uint64_t kLowFive = 0xff'ffff'ffffU;
constexpr std::ptrdiff_t kShortestSet = 8;  ///< with a key of one byte, the value not counted

/// The next 8 bytes, with zeros behind the end.
[[nodiscard, gnu::always_inline]] inline std::uint64_t word_before(const char* end, const char* at) noexcept {
  return end - at >= 8 ? load_word(at) : load_short(at, static_cast<std::size_t>(end - at));
}

}  // namespace

std::size_t take_set_lines(const char* data, std::size_t size, const ParserLimits& limits,
                           std::size_t most_bytes, std::span<SentValue> values) noexcept {
  const char* const end = data + size;
  const char* line = data;
  SentValue* next = values.data();
  SentValue* const values_end = next + values.size();
  for (; next != values_end && end - line >= kShortestSet; ++next) {
    const bool meta = std::memcmp(line, kMetaSetWord.data(), kMetaSetWord.size()) == 0;
    if (!meta && std::memcmp(line, kSetWord.data(), kSetWord.size()) != 0) {
      break;
    }
    const char* const key = line + (meta ? kMetaSetWord : kSetWord).size();
    const char* at = find_key_end(key, end);
    const auto key_bytes = static_cast<std::size_t>(at - key);
    const std::uint64_t behind = word_before(end, at);
    if (key_bytes - 1 >= kMaxKeyBytes ||
        (meta ? (behind & 0xffU) != ' ' : (behind & kLowFive) != kNoFlagsNoTime)) [[unlikely]] {
      break;
    }
    at += meta ? 1 : kBytesOfThat;
    const std::uint64_t word = word_before(end, at) ^ (kEachByte * '0');
    const std::size_t digits = first_marked(mark_above_nine(word) | std::uint64_t{1} << 63U);
    const std::uint64_t bytes = word_value(digits == 0 ? 0 : word << (64 - 8 * digits));
    at += digits;
    const char* const value = at + kCrLf.size();
    if (digits == 0 || bytes > most_bytes ||
        end - value < static_cast<std::ptrdiff_t>(bytes + kCrLf.size()) ||
        std::memcmp(at, kCrLf.data(), kCrLf.size()) != 0 ||
        static_cast<std::size_t>(value - line) > limits.line_bytes ||
        std::memcmp(value + bytes, kCrLf.data(), kCrLf.size()) != 0) [[unlikely]] {
      break;
    }
    *next = {key, value, static_cast<std::uint32_t>(bytes), static_cast<std::uint8_t>(key_bytes), meta};
    line = value + bytes + kCrLf.size();
  }
  return static_cast<std::size_t>(next - values.data());
}

}  // namespace mxkv::protocol

#include "protocol/get_lines.hpp"

#include <bit>
#include <cstring>

#include "protocol/reply.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kGet = "get ";
constexpr std::ptrdiff_t kShortest = 7;  ///< with a key of one byte

/// find_not_key() where there is much behind the key as a rule: two looks without a branch between them.
[[nodiscard, gnu::always_inline]] inline const char* find_key_end(const char* text,
                                                                  const char* end) noexcept {
#ifdef __SSE2__
  if (end - text >= 32) [[likely]] {
    const auto low = static_cast<std::uint32_t>(_mm_movemask_epi8(marks_not_key(text)));
    const auto high = static_cast<std::uint32_t>(_mm_movemask_epi8(marks_not_key(text + 16)));
    const std::uint32_t marks = low | high << 16U;
    if (marks != 0) [[likely]] {
      return text + std::countr_zero(marks);
    }
    text += 32;
  }
#endif
  return find_not_key(text, end);
}

}  // namespace

GetLines take_get_lines(const char* data, std::size_t size, const ParserLimits& limits,
                        std::span<AskedKey> keys, std::size_t most_lines) noexcept {
  const char* const end = data + size;
  const std::size_t most_bytes = limits.get_line_bytes;
  const char* line = data;  // of those before it, `keys_taken` were the keys
  AskedKey* const keys_end = keys.data() + keys.size();
  AskedKey* keys_taken = keys.data();
  std::size_t lines_left = most_lines;
  const auto is_usual = [&]() __attribute__((always_inline)) {
    const char* at = line + kGet.size();
    AskedKey* next = keys_taken;
    for (bool more = true; more; ++next) {
      const char* const key_end = find_key_end(at, end);
      const auto bytes = static_cast<std::size_t>(key_end - at);
      if (bytes - 1 >= kMaxKeyBytes || next == keys_end || end - key_end < 2) [[unlikely]] {
        return false;
      }
      more = std::memcmp(key_end, kCrLf.data(), kCrLf.size()) != 0;
      if (more && *key_end != ' ') [[unlikely]] {
        return false;
      }
      *next = {at, static_cast<std::uint8_t>(bytes), !more};
      at = key_end + (more ? 1 : 2);
    }
    if (static_cast<std::size_t>(at - line) > most_bytes) [[unlikely]] {
      return false;
    }
    line = at;
    keys_taken = next;
    return true;
  };
  while (lines_left != 0 && end - line >= kShortest && std::memcmp(line, kGet.data(), kGet.size()) == 0 &&
         is_usual()) {
    --lines_left;
  }
  return {.consumed = static_cast<std::size_t>(line - data),
          .keys = static_cast<std::size_t>(keys_taken - keys.data()),
          .lines = most_lines - lines_left};
}

}  // namespace mxkv::protocol

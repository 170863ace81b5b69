#include "protocol/get_lines.hpp"

#include <cstring>

#include "protocol/key_end.hpp"
#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kGet = "get ";
constexpr std::string_view kMetaGetWord = "mg ";
constexpr std::string_view kBehindMetaKey = " v\r\n";
constexpr std::ptrdiff_t kShortest = 7;  ///< with a key of one byte

}  // namespace

GetLines take_get_lines(const char* data, std::size_t size, const ParserLimits& limits,
                        std::span<AskedKey> keys, std::size_t most_lines) noexcept {
  const char* const end = data + size;
  const std::size_t most_bytes = limits.get_line_bytes;
  const char* line = data;  // the lines before it had `keys_taken` keys
  AskedKey* const keys_end = keys.data() + keys.size();
  AskedKey* keys_taken = keys.data();
  std::size_t lines_left = most_lines;
  const auto take_get = [&]() __attribute__((always_inline)) {
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
      *next = {at, static_cast<std::uint8_t>(bytes), static_cast<asked>(!more)};
      at = key_end + (more ? 1 : 2);
    }
    if (static_cast<std::size_t>(at - line) > most_bytes) [[unlikely]] {
      return false;
    }
    line = at;
    keys_taken = next;
    return true;
  };
  const auto take_meta_get = [&]() __attribute__((always_inline)) {
    const char* const key = line + kMetaGetWord.size();
    const char* const key_end = find_key_end(key, end);
    const auto bytes = static_cast<std::size_t>(key_end - key);
    if (bytes - 1 >= kMaxKeyBytes || keys_taken == keys_end ||
        static_cast<std::size_t>(end - key_end) < kBehindMetaKey.size() ||
        std::memcmp(key_end, kBehindMetaKey.data(), kBehindMetaKey.size()) != 0 ||
        kMetaGetWord.size() + bytes + kBehindMetaKey.size() > limits.line_bytes) [[unlikely]] {
      return false;
    }
    *keys_taken++ = {key, static_cast<std::uint8_t>(bytes), asked::meta};
    line = key_end + kBehindMetaKey.size();
    return true;
  };
  for (; lines_left != 0 && end - line >= kShortest; --lines_left) {
    const bool usual = std::memcmp(line, kGet.data(), kGet.size()) == 0                   ? take_get()
                       : std::memcmp(line, kMetaGetWord.data(), kMetaGetWord.size()) == 0 ? take_meta_get()
                                                                                          : false;
    if (!usual) {
      break;
    }
  }
  return {.consumed = static_cast<std::size_t>(line - data),
          .keys = static_cast<std::size_t>(keys_taken - keys.data()),
          .lines = most_lines - lines_left};
}

}  // namespace mxkv::protocol

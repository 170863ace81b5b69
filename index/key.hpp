// Byte keys and their heads.
//
// Keys are ordered by memcmp over their raw bytes, a prefix before what it begins. The head of a key at an
// offset is its next eight bytes as a big-endian number, padded with zeros: heads compare as the keys do,
// but equal heads prove nothing, since a key may end there or hold NUL.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mxkv::index {

/// Longest byte key.
inline constexpr std::size_t kMaxKeyBytes = 250;

/// A key somewhere in memory. Empty is the minimum: it precedes every key of the tree.
using KeyView = std::string_view;

namespace detail {
inline std::uint64_t load_big_endian(const char* data) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, data, sizeof word);
  if constexpr (std::endian::native == std::endian::little) {
    word = __builtin_bswap64(word);
  }
  return word;
}

/// Compares without a call.
template <std::size_t Bytes>
[[nodiscard, gnu::always_inline]] inline bool same_bytes(const char* a, const char* b) noexcept {
  return std::memcmp(a, b, Bytes) == 0;
}

/// head_of() where fewer than eight bytes are left.
[[gnu::noinline]] inline std::uint64_t short_head_of(KeyView key, std::size_t offset) noexcept {
  const std::size_t size = key.size();
  if (offset >= size) {
    return 0;
  }
  const std::size_t rest = size - offset;  // 1 to 7
  if (size >= 8) {
    return load_big_endian(key.data() + size - 8) << (8 * (8 - rest));
  }
  char padded[8] = {};
  std::memcpy(padded, key.data() + offset, rest);
  return load_big_endian(padded);
}
}  // namespace detail

/// The head of `key` after its first `offset` bytes. Reads nothing outside of the key.
[[gnu::always_inline]] inline std::uint64_t head_of(KeyView key, std::size_t offset) noexcept {
  if (offset + 8 <= key.size()) [[likely]] {
    return detail::load_big_endian(key.data() + offset);
  }
  return detail::short_head_of(key, offset);
}

/// Whether both keys are the same. Searches compare one key each, so keys of usual length take no call.
[[nodiscard, gnu::always_inline]] inline bool same_key(KeyView a, KeyView b) noexcept {
  const std::size_t size = a.size();
  if (size != b.size()) {
    return false;
  }
  // Two looks of fixed length that overlap in the middle.
  const char* const mine = a.data();
  const char* const its = b.data();
  if (size - 16 <= 16) [[likely]] {
    return detail::same_bytes<16>(mine, its) && detail::same_bytes<16>(mine + size - 16, its + size - 16);
  }
  if (size - 8 < 8) {
    return detail::same_bytes<8>(mine, its) && detail::same_bytes<8>(mine + size - 8, its + size - 8);
  }
  return size == 0 || std::memcmp(a.data(), b.data(), size) == 0;
}

/// Bytes that both keys begin with.
inline std::size_t common_prefix(KeyView a, KeyView b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < most && a[i] == b[i]) {
    ++i;
  }
  return i;
}

/// The shortest key s with low < s <= high.
inline KeyView shortest_separator(KeyView low, KeyView high) noexcept {
  return high.substr(0, std::min(high.size(), common_prefix(low, high) + 1));
}

}  // namespace mxkv::index

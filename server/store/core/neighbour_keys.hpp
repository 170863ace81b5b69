// The neighbours of a key in the order of all keys that there can be: of at most index::kMaxKeyBytes bytes.
//
// All functions: any thread. Results lie in `room`, which must not hold the argument, or in the argument.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "index/key.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// One byte more than a key: it also fits the text that searches take for the key above the longest one.
using KeyRoom = std::array<char, index::kMaxKeyBytes + 1>;

/// The least text above all texts that begin with `prefix`; empty: none.
[[nodiscard]] inline std::string_view behind_prefix(std::string_view prefix, KeyRoom& room) noexcept {
  MXKV_ASSERT(prefix.size() <= room.size(), "a prefix is no longer than a key");
  while (!prefix.empty() && prefix.back() == '\xFF') {
    prefix.remove_suffix(1);
  }
  if (!prefix.empty()) {
    std::ranges::copy(prefix, room.data());
    ++room[prefix.size() - 1];
  }
  return {room.data(), prefix.size()};
}

/// The least key above `key`; empty: none.
[[nodiscard]] inline std::string_view behind_key(std::string_view key, KeyRoom& room) noexcept {
  if (key.size() >= index::kMaxKeyBytes) {
    return behind_prefix(key, room);
  }
  std::ranges::copy(key, room.data());
  room[key.size()] = '\0';
  return {room.data(), key.size() + 1};
}

/// The greatest key below `key`, which is not empty.
[[nodiscard]] inline std::string_view key_before(std::string_view key, KeyRoom& room) noexcept {
  MXKV_ASSERT(!key.empty() && key.size() <= index::kMaxKeyBytes, "a key has a byte or more");
  if (key.back() == '\0') {
    return key.substr(0, key.size() - 1);
  }
  std::ranges::copy(key, room.data());
  --room[key.size() - 1];
  std::fill(room.data() + key.size(), room.data() + index::kMaxKeyBytes, '\xFF');
  return {room.data(), index::kMaxKeyBytes};
}

/// The greatest key that begins with `prefix`.
[[nodiscard]] inline std::string_view last_with_prefix(std::string_view prefix, KeyRoom& room) noexcept {
  MXKV_ASSERT(prefix.size() <= index::kMaxKeyBytes, "a prefix is no longer than a key");
  std::ranges::copy(prefix, room.data());
  std::fill(room.data() + prefix.size(), room.data() + index::kMaxKeyBytes, '\xFF');
  return {room.data(), index::kMaxKeyBytes};
}

}  // namespace mxkv::server

// A quick hash of keys for RequestOrder: equal keys must meet, unequal ones should not.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mxkv::server {

/// Not stable across versions; never stored. Thread-safety: any thread.
[[nodiscard]] inline std::uint64_t hash_key(std::string_view key) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15ULL;
  const auto mix = [](std::uint64_t hash, std::uint64_t word) noexcept {
    const std::uint64_t product = (hash ^ word) * kMultiplier;
    return product ^ (product >> 32U);
  };
  std::uint64_t hash = key.size();
  const char* at = key.data();
  std::size_t left = key.size();
  for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    hash = mix(hash, word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, at, left);
  return mix(hash, rest);
}

}  // namespace mxkv::server

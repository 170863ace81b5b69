// Java's String.hashCode for texts of single-byte characters. YCSB's contents and its index use it.
#pragma once

#include <cstdint>
#include <string_view>

namespace mxkv::bench {

/// The hash of `text` behind a text whose hash is `before`.
constexpr std::int32_t java_hash(std::string_view text, std::int32_t before = 0) noexcept {
  auto hash = static_cast<std::uint32_t>(before);
  for (const char letter : text) {
    hash = hash * 31 + static_cast<unsigned char>(letter);
  }
  return static_cast<std::int32_t>(hash);
}

}  // namespace mxkv::bench

// Small helpers for text protocols: lines ended by CR LF, literal pieces; parse_number().
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "bench/workload/number.hpp"

namespace mxkv::bench {

inline constexpr std::string_view kLineEnd = "\r\n";

/// The first line without its end, or nothing while it is incomplete.
inline std::optional<std::string_view> first_line(std::string_view input) noexcept {
  const void* end = input.empty() ? nullptr : std::memchr(input.data(), '\n', input.size());
  if (end == nullptr) {
    return std::nullopt;
  }
  const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - input.data());
  return length > 0 && input[length - 1] == '\r' ? input.substr(0, length - 1) : input.substr(0, length);
}

/// Writes the text and returns the place after it.
inline char* put(char* at, std::string_view text) noexcept {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

/// Writes the number in decimal (at most 20 bytes) and returns the place after it.
inline char* put_number(char* at, std::uint64_t number) noexcept {
  return std::to_chars(at, at + 20, number).ptr;
}

}  // namespace mxkv::bench

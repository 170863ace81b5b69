// Usual sets whose values came with them, many at once: what a pipeline of sets is, by `set` or `ms`.
//
// Usual is a line of a key and a length alone, flags and time being 0, with its whole value behind it. As
// take_get_lines() this only ever accepts: it ends before the first line that is anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/parser_limits.hpp"

namespace mxkv::protocol {

/// A key and its value, where they stand in the input.
struct SentValue {
  const char* text;  ///< of the key
  const char* data;
  std::uint32_t data_bytes;
  std::uint8_t key_bytes;
  bool meta;  ///< by ms: the answer is of that style

  [[nodiscard]] std::string_view key() const noexcept { return {text, key_bytes}; }
  [[nodiscard]] std::string_view value() const noexcept { return {data, data_bytes}; }
  /// Where the next line begins.
  [[nodiscard]] const char* end() const noexcept { return data + data_bytes + 2; }
};

/// Takes usual sets off the front of [data, data + size), as many as have room in `values`, of values of at most
/// `most_bytes`. Returns how many. Thread-safety: any thread.
[[nodiscard]] std::size_t take_set_lines(const char* data, std::size_t size, const ParserLimits& limits,
                                         std::size_t most_bytes, std::span<SentValue> values) noexcept;

}  // namespace mxkv::protocol

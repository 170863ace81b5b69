// Usual sets whose values came with them, many at once: a pipeline of `set` or `ms`.
//
// A usual line has only a key and a length, flags and time are 0, and the whole value follows. Like
// take_get_lines(), this never refuses a line: it stops before the first other line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/parser_limits.hpp"

namespace mxkv::protocol {

/// A key and its value; points into the input.
struct SentValue {
  const char* text;  ///< of the key
  const char* data;
  std::uint32_t data_bytes;
  std::uint8_t key_bytes;
  bool meta;  ///< by ms, so the answer has the meta form

  [[nodiscard]] std::string_view key() const noexcept { return {text, key_bytes}; }
  [[nodiscard]] std::string_view value() const noexcept { return {data, data_bytes}; }
  /// Where the next line begins.
  [[nodiscard]] const char* end() const noexcept { return data + data_bytes + 2; }
};

/// Takes usual sets off the front of [data, data + size), as many as `values` has room for, with values of at
/// most `most_bytes`. Returns their number. Thread-safety: any thread.
[[nodiscard]] std::size_t take_set_lines(const char* data, std::size_t size, const ParserLimits& limits,
                                         std::size_t most_bytes, std::span<SentValue> values) noexcept;

}  // namespace mxkv::protocol

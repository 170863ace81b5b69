// Usual lines of get and mg, many at once: a pipeline of single gets, or a line of many keys. A usual line of
// mg has a key and the flag v alone.
//
// One pass finds all keys of several whole lines, so that the session starts their reads together. Like the
// short way for single lines (fast_lines.hpp), it never refuses a line: it stops before the first unusual,
// incomplete or wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/parser_limits.hpp"

namespace mxkv::protocol {

/// How a line asks for a key.
enum class asked : std::uint8_t {
  before_others,  ///< by get, with other keys behind it
  last,           ///< by get, as the last key of its line: END follows
  meta,           ///< by mg, so the answer has the meta form
};

/// A key that a get asks for; points into the input.
struct AskedKey {
  const char* text;
  std::uint8_t bytes;
  asked how;

  [[nodiscard]] bool ends_line() const noexcept { return how != asked::before_others; }
  [[nodiscard]] bool meta() const noexcept { return how == asked::meta; }
  [[nodiscard]] std::string_view view() const noexcept { return {text, bytes}; }
};

/// The whole lines that take_get_lines() took.
struct GetLines {
  std::size_t consumed = 0;  ///< bytes of whole lines
  std::size_t keys = 0;
  std::size_t lines = 0;
};

/// Takes usual lines off the front of [data, data + size), at most `most_lines`, as long as `keys` has room
/// for all keys of a line. Thread-safety: any thread.
[[nodiscard]] GetLines take_get_lines(const char* data, std::size_t size, const ParserLimits& limits,
                                      std::span<AskedKey> keys, std::size_t most_lines) noexcept;

}  // namespace mxkv::protocol

// Usual lines of get and mg, many at once: what a pipeline of single gets is, and a line of many keys. Of mg that is
// a key and v alone.
//
// All keys of a number of whole lines are found in one pass, for who starts them together. It only ever
// accepts, as the short way for single lines does (fast_lines.hpp): it ends before the first line that is
// unusual, incomplete or wrong, and says nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/parser_limits.hpp"

namespace mxkv::protocol {

/// How a key is asked for.
enum class asked : std::uint8_t {
  before_others,  ///< by get, with others behind it
  last,           ///< by get, as the last one of its line: END follows
  meta,           ///< by mg: the answer is of that style
};

/// A key that a get asks for, where it stands in the input.
struct AskedKey {
  const char* text;
  std::uint8_t bytes;
  asked how;

  [[nodiscard]] bool ends_line() const noexcept { return how != asked::before_others; }
  [[nodiscard]] bool meta() const noexcept { return how == asked::meta; }
  [[nodiscard]] std::string_view view() const noexcept { return {text, bytes}; }
};

/// What stood at the front of the input.
struct GetLines {
  std::size_t consumed = 0;  ///< bytes of whole lines
  std::size_t keys = 0;
  std::size_t lines = 0;
};

/// Takes usual lines off the front of [data, data + size), at most so many, as long as all keys of a
/// line have room in `keys`. Thread-safety: any thread.
[[nodiscard]] GetLines take_get_lines(const char* data, std::size_t size, const ParserLimits& limits,
                                      std::span<AskedKey> keys, std::size_t most_lines) noexcept;

}  // namespace mxkv::protocol

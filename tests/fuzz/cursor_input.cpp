// Cursors: reading and writing are each other's inverse, and reading survives any text.
#include <memory>

#include "protocol/cursor.hpp"
#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {

using namespace protocol;

std::string check_cursor_input(std::string_view input) {
  const auto scratch = std::make_unique<char[]>(kMaxCursorBytes);
  RangeRequest range;
  if (!read_cursor(input, range, scratch.get())) {
    return {};
  }
  CursorState state;
  state.last_key = range.reverse ? range.high.key : range.low.key;
  state.far = range.reverse ? range.low : range.high;
  state.prefix = range.prefix;
  state.by_prefix = range.by_prefix;
  state.reverse = range.reverse;
  const auto out = std::make_unique<char[]>(kMaxCursorBytes);
  const std::string written(out.get(), write_cursor(out.get(), state));
  return written == input ? std::string() : "read as a cursor that is written as " + written;
}

}  // namespace mxkv::fuzz

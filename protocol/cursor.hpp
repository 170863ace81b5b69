// Cursors: opaque text with which a client resumes a range. A cursor holds the whole state of the range (last
// key, direction, bounds). So it needs no memory on the server, and stays valid across reconnects and
// restarts.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/request.hpp"

namespace mxkv::protocol {

/// The state of a range at the end of a page.
struct CursorState {
  std::string_view last_key;  ///< the last key emitted: the next page starts beyond it
  RangeBound far;             ///< the bound in walking order; for prefixes unbounded
  std::string_view prefix;    ///< by_prefix only
  bool by_prefix = false;
  bool reverse = false;
};

/// Most bytes of a cursor's text.
inline constexpr std::size_t kMaxCursorBytes = 4 * ((8 + 2 * (kMaxKeyBytes + 1) + 2) / 3);

/// Writes the cursor's text (no spaces, no control bytes); needs kMaxCursorBytes. Returns the new end.
char* write_cursor(char* out, const CursorState& state) noexcept;

/// Decodes `text` into the bounds, prefix and direction of `range`; keys point into `scratch` (at least
/// kMaxCursorBytes). False if the text was not made by write_cursor() or was changed.
[[nodiscard]] bool read_cursor(std::string_view text, RangeRequest& range, char* scratch) noexcept;

/// Whether `rest`, the range that a cursor resumes, lies within the range that a line names. Directions do
/// not matter.
[[nodiscard]] bool lies_within(const RangeRequest& rest, const RangeRequest& named) noexcept;

}  // namespace mxkv::protocol

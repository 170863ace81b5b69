// A range of keys as a half-open span of texts: [low, high), or from `low` on without an end. Watches and operations
// on ranges meet in this form, because its parts need no flags to be compared.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/request.hpp"
#include "server/commit/record.hpp"

namespace mxkv::server {

/// Plain value.
struct KeySpan {
  std::string low{};
  std::string high{};
  bool endless = true;  ///< `high` is empty and counts as above all keys

  friend auto operator<=>(const KeySpan&, const KeySpan&) = default;

  [[nodiscard]] bool has(std::string_view key) const noexcept {
    return key >= low && (endless || key < high);
  }
  [[nodiscard]] bool empty() const noexcept { return !endless && high <= low; }
  [[nodiscard]] bool meets(const KeySpan& other) const noexcept {
    return (endless || other.low < high) && (other.endless || low < other.high);
  }
  /// The keys of both.
  [[nodiscard]] KeySpan cut_to(const KeySpan& other) const {
    KeySpan cut{.low = std::max(low, other.low), .high = high, .endless = endless};
    if (!other.endless && (endless || other.high < high)) {
      cut.high = other.high;
      cut.endless = false;
    }
    return cut;
  }
};

/// Thread-safety of the functions below: any thread.
[[nodiscard]] KeySpan span_of_prefix(std::string_view prefix);
[[nodiscard]] KeySpan span_of(const RecordBounds& bounds);
/// The range of a line. It is not cut by a cursor.
[[nodiscard]] KeySpan span_of(const protocol::RangeRequest& range);

}  // namespace mxkv::server

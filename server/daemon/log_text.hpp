// Log lines in JSON: the members of a line, escaped. For any text the line stays one line and valid JSON, and has no
// control characters for a terminal. Lines of text use runtime::readable() instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/store/happenings.hpp"

namespace mxkv::server {

/// The inside of a JSON string; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

/// What a line reports, for programs: the line's text is for people and may change.
struct LogEvent {
  std::string_view name{};  ///< a literal; empty: the line reports no event
  std::uint64_t times = 1;  ///< events since the last such line
  Subject subject{};        ///< of the first of them
};

/// A line's members message, and of an event the members event and times, and of its subject about
/// and each part that is not empty: client, user, command, took_ms.
[[nodiscard]] std::string json_members(std::string_view text, const LogEvent& event);

}  // namespace mxkv::server

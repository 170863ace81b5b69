// Escapes a message for a log line in JSON. For any text the line stays one line and valid JSON, and has no
// control characters for a terminal. Lines of text use runtime::readable() instead.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// The inside of a JSON string; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace mxkv::server

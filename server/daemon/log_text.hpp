// How a message stands in a line of the log. Whatever the text is, a line stays one line, and a JSON line
// stays JSON.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// Control characters as \n, \t, \xHH.
[[nodiscard]] std::string plain_text(std::string_view text);

/// The inside of a JSON string; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace mxkv::server

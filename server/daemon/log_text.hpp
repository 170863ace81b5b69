// How a message stands in a line of the log in JSON. Whatever the text is, the line stays one line and stays JSON, and no
// terminal that shows the log obeys it. A line of text takes runtime::readable() of its message.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// The inside of a JSON string; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace mxkv::server

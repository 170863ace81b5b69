// Meta commands between nodes: keys in their lines, and words of their replies.
//
// All functions: any thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply.hpp"

namespace mxkv::server {

/// The form of a key with the flag b.
[[nodiscard]] inline std::string base64_of(std::string_view key) {
  std::string text(4 * ((key.size() + 2) / 3), '\0');
  protocol::write_base64(text.data(), key);
  return text;
}

[[nodiscard]] inline std::uint64_t number_in(std::string_view text) noexcept {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Calls `each` with each word of a reply's first line, except the first word: one for each flag.
template <class Each>
void each_word(std::string_view reply, const Each& each) {
  reply = reply.substr(0, reply.find('\r'));
  for (std::size_t at = reply.find(' '); at != std::string_view::npos;) {
    const std::size_t begin = at + 1;
    at = reply.find(' ', begin);
    each(reply.substr(begin, at == std::string_view::npos ? at : at - begin));
  }
}

}  // namespace mxkv::server

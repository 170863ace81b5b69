// Splits a line into words as a shell does, and quotes keys so that they can be read back.
//
//   plain words                end at a blank; a backslash takes the next byte as it is
//   'all as it is'             up to the next '
//   "with \n \r \t \0 \\ \" \xNN"
//
// Pieces that touch are one word. `#` at the beginning of a word, outside of quotes, begins a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mxkv::cli {

/// Throws Failure (Outcome::usage) if a quote is not closed, or an escape is unknown.
[[nodiscard]] std::vector<std::string> split_words(std::string_view line);
/// Replaces the escapes of double quotes in `text`.
[[nodiscard]] std::string unescape(std::string_view text);
/// `bytes` as one word of a line: unchanged if readable (runtime/base/readable.hpp), else in double quotes.
[[nodiscard]] std::string quoted_word(std::string_view bytes);

}  // namespace mxkv::cli

// Words of a line as a shell has them, and keys written so that they are read back.
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

/// Throws Failure (Outcome::usage): a quote is not closed, or an escape is none.
[[nodiscard]] std::vector<std::string> split_words(std::string_view line);
/// Takes the escapes of double quotes out of `text`.
[[nodiscard]] std::string unescape(std::string_view text);
/// `bytes` as one word of a line: as it is where that is readable (runtime/base/readable.hpp), else in double quotes.
[[nodiscard]] std::string quoted_word(std::string_view bytes);

}  // namespace mxkv::cli

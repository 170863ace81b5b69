// Makes text from outside safe to show to people.
//
// Keys, values, names, paths and certificates come from clients, and may hold anything: line ends that forge
// lines, and escape sequences that a terminal obeys. There is one function for each kind of output, and each
// place that prints passes its text through its own:
//
//   a line protocol     StatText::add() for `stats`; socket_path_text() for peers, wherever they are named
//   a log               Log::write() by log_text.hpp
//   a page, an API      status_json.hpp, by JSON
//   a terminal          mxkv-cli's Session::print() and complain()
//
// All of them ask readable_bytes() which characters may be shown as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mxkv::runtime {

/// Bytes of the first character of `text`, if it may be shown unescaped: UTF-8, and neither a control (C0, DEL,
/// C1), a line or paragraph separator, nor one that turns the direction of writing. Else 0: the first byte is to be
/// escaped. `text` is not empty.
[[nodiscard]] std::size_t readable_bytes(std::string_view text) noexcept;

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Whether all of it may be shown as it is.
[[nodiscard]] bool is_readable(std::string_view text) noexcept;

/// The text with \n, \t or \xHH for each byte that is not readable. Backslashes stay single, so this is for
/// people, not to be read back. `kept` are control characters that stay, such as "\n" for a text of several
/// lines.
[[nodiscard]] std::string readable(std::string_view text, std::string_view kept = {});

/// The same in one word: a blank is \x20.
[[nodiscard]] std::string readable_word(std::string_view text);

/// Without the byte order mark that some editors put at the beginning of a file.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text) noexcept;

}  // namespace mxkv::runtime

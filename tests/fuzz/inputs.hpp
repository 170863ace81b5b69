// What the fuzzers check of one input. The same functions run over the seeds in every build.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::protocol {

/// The first byte says how the rest is cut into pieces; the pieces must give what the whole gives. Returns
/// what differs, empty if nothing does.
[[nodiscard]] std::string check_parser_input(std::string_view input);

/// A text that is read as a cursor must be the one that is written for what was read. Returns what is wrong.
[[nodiscard]] std::string check_cursor_input(std::string_view input);

}  // namespace mxkv::protocol

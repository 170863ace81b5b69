// A connection's reading half in miniature: feeds a byte stream to the parser in pieces and notes the results
// in words. Two ways of cutting the same stream must give the same notes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/parser.hpp"

namespace mxkv::protocol {

/// All fields that the parser promises to fill for this verb.
[[nodiscard]] std::string describe(const Request& request);

/// The flags of a meta command in words.
[[nodiscard]] std::string describe_meta(const MetaFlags& flags);

/// How many bytes the next piece has, given how many are left; at least 1.
using Cut = std::function<std::size_t(std::size_t left)>;

/// The parser's results for `stream` cut by `cut`: one note a request, error, data block or close.
[[nodiscard]] std::vector<std::string> transcript(std::string_view stream, const ParserLimits& limits,
                                                  const Cut& cut);

}  // namespace mxkv::protocol

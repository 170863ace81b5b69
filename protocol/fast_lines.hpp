// The short way for the lines that nearly all traffic consists of: one space between words, short numbers, no
// words that are seldom there. Key, check of the key and line end are found in one pass, without looking for
// the line's end first. cas, gat and what has no key go the long way, and ranges with more than a count.
//
// It only ever accepts. Whatever is unusual, incomplete or wrong is left to the parser's long way, which
// alone knows limits, errors and unfinished lines; so for each line both ways say the same, or this one says
// nothing.
#pragma once

#include <cstddef>

#include "protocol/parser_limits.hpp"
#include "protocol/request.hpp"

namespace mxkv::protocol {

/// Parses the line at the front of [data, data + size). Returns the bytes consumed and fills `request`, or
/// returns 0 if the long way has to look (`request` holds nothing then). Thread-safety: any thread.
[[nodiscard]] std::size_t parse_fast_line(const char* data, std::size_t size, const ParserLimits& limits,
                                          Request& request) noexcept;

}  // namespace mxkv::protocol

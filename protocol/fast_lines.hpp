// The short way for the lines that make up nearly all traffic: one space between words, short numbers, no
// rare words. One pass finds the key, checks it and finds the line's end, without searching for that end
// first. The long way parses cas, gat, commands without a key, and ranges with more than a count.
//
// The short way accepts lines, but never refuses one. It leaves each unusual, incomplete or wrong line to the
// parser's long way, which alone knows limits, errors and unfinished lines. So for each line both ways return
// the same, or the short way returns nothing.
#pragma once

#include <cstddef>

#include "protocol/parser_limits.hpp"
#include "protocol/request.hpp"

namespace mxkv::protocol {

/// Parses the line at the front of [data, data + size). Returns the bytes consumed and fills `request`, or
/// returns 0 if the long way has to parse it (`request` holds nothing then). Thread-safety: any thread.
[[nodiscard]] std::size_t parse_fast_line(const char* data, std::size_t size, const ParserLimits& limits,
                                          Request& request) noexcept;

}  // namespace mxkv::protocol

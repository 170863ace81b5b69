// Finds the end of a command line, or that the line is too long (rules 1 and 4).
#pragma once

#include <cstddef>

#include "protocol/parser.hpp"

namespace mxkv::protocol {

enum class line_end : std::uint8_t { found, missing, too_long };

/// Searches [data, data + size) for LF from where `line` says an earlier call stopped. `at` gets its index.
/// The answer is the same however the bytes came in pieces. Resets `line` unless the end is missing.
[[nodiscard]] line_end find_line_end(const char* data, std::size_t size, const ParserLimits& limits,
                                     LineState& line, std::size_t& at) noexcept;

}  // namespace mxkv::protocol

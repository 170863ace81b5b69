// How long command lines and values may be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxkv::protocol {

/// The parser refuses longer values and lines.
struct ParserLimits {
  std::uint64_t value_bytes = 1U << 20U;   ///< longest value
  std::size_t line_bytes = 2048;           ///< longest command line, except retrievals
  std::size_t get_line_bytes = 1U << 20U;  ///< longest get, gets, gat, gats line
};

}  // namespace mxkv::protocol

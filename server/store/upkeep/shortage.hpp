// The kind of memory that was refused: it decides which items eviction removes.
#pragma once

#include <cstdint>

namespace mxkv::server {

enum class shortage : std::uint8_t {
  block,  ///< a block of any size, or a node of the tree
  chunk,  ///< a chunk of a large value: all chunks have one size
};

}  // namespace mxkv::server

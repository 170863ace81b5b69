// What memory was refused for: it decides what eviction removes.
#pragma once

#include <cstdint>

namespace mxkv::server {

enum class shortage : std::uint8_t {
  block,  ///< of any size, or a node of the tree
  chunk,  ///< of a large value: all of them are of one size
};

}  // namespace mxkv::server

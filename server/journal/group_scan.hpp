// Reads one group of a segment: whether it is whole, of the expected epoch, and linked to the one before.
//
// It takes a whole file, or the part of a file that holds the group. Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/journal/block.hpp"

namespace mxkv::server {

/// A whole group: of the expected epoch, with all its blocks, and linked to the one before.
struct ScannedGroup {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< with padding
  std::uint64_t epoch = 0;
  std::uint64_t durable = 0;  ///< see CommitMark
  std::uint64_t ceiling = 0;
  std::uint64_t unix_us = 0;
  std::uint64_t chain = 0;
  std::uint32_t blocks = 0;  ///< behind the commit block
  std::int32_t wall_ahead_s = 0;
};

/// An error in a block, and the block's place.
struct BlockFault {
  std::uint64_t at = 0;
  const char* why = nullptr;  ///< null: there is none
};

/// The bytes that a group is read from; offsets count from their beginning.
struct GroupBytes {
  std::string_view bytes;
  std::uint64_t seed = 0;  ///< of the segment
  std::uint64_t base = 0;  ///< the offset in the segment at which they begin
};

/// Reads the group at `begin`, which has to be of this epoch and behind a group with this chain.
[[nodiscard]] BlockFault scan_group(const GroupBytes& from, std::uint64_t begin, std::uint64_t epoch,
                                    std::uint64_t chain, ScannedGroup& group) noexcept;

}  // namespace mxkv::server

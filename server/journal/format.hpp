// The journal on disk, format 2: definitions that all its files share. Pure bytes; all numbers are
// little-endian.
//
//   directory/LOCK, MANIFEST
//   directory/journal/<16 hex digits>.mxj        a segment: a header page, then groups
//   directory/checkpoint/<16 hex digits>/part-<n>.mxc
//
// A *group* holds all records of one commit epoch; it is on disk as a whole or not at all. It begins at a
// multiple of 4 KiB with a commit block, which has the number of blocks and the length of the group. Blocks
// of records and of values apart come next, then zeros up to the next multiple of 4 KiB. So no byte on disk
// is ever written again, a torn sector belongs to the last group only, and commit blocks are found behind a
// damaged group.
//
// Format 1 has no marks of batches (record.hpp). It is read at a start; readers of changes take format 2 only.
//
// Everything but that padding is hashed. Blocks are hashed with a seed of directory and segment number, so
// that old bytes in a recycled file never pass for new ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/commit/record_format.hpp"

namespace mxkv::server {

/// The newest format that this code reads. It writes segments of this format. Each format needs a reader of at
/// least its own number.
inline constexpr std::uint16_t kFormatVersion = 2;
/// The first format whose segments have marks of batches.
inline constexpr std::uint16_t kFirstWithBatches = 2;
/// The format of parts of checkpoints, which no change since has touched.
inline constexpr std::uint16_t kPartFormat = 1;
/// Hash functions by number: XXH3 with 64 bits.
inline constexpr std::uint16_t kHashXxh3 = 1;

/// Groups begin at multiples of this, which is also the size of header pages.
inline constexpr std::size_t kPageBytes = 4096;

inline constexpr std::size_t kMostPayloadBytes = std::size_t{16} << 20U;

[[nodiscard]] constexpr std::uint64_t round_up_to_page(std::uint64_t bytes) noexcept {
  return (bytes + (kPageBytes - 1)) & ~std::uint64_t{kPageBytes - 1};
}

}  // namespace mxkv::server

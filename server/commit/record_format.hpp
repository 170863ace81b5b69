// Numbers that records in memory, in a journal and in the logs of a cluster share. Pure bytes; all numbers are
// little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mxkv::server {

/// Room before the records of a block, for the header that a journal writes (server/journal/block.hpp).
inline constexpr std::size_t kBlockHeaderBytes = 48;

/// Larger values are apart, in blocks behind their record; others are copied into the record.
inline constexpr std::size_t kMostInlineBytes = 8192;

/// Bits of an order; the bits above hold the access code of an item in a checkpoint.
inline constexpr unsigned kOrderBits = 53;
inline constexpr std::uint64_t kMostOrder = (std::uint64_t{1} << kOrderBits) - 1;
inline constexpr std::uint32_t kMostAccess = (1U << (64 - kOrderBits)) - 1;

// All machines that this runs on are little-endian, so numbers are copied.
static_assert(std::endian::native == std::endian::little);

template <class T>
[[nodiscard]] inline T load_number(const char* at) noexcept {
  T number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

/// Returns the place behind the number.
template <class T>
inline char* store_number(char* at, T number) noexcept {
  std::memcpy(at, &number, sizeof number);
  return at + sizeof number;
}

}  // namespace mxkv::server

// The usual entries of a range as VALUE lines and data: a loop with few cases, so that what it needs stays in
// registers.
//
// Usual is an item without fields (flags, expiry, a client's unique), with a printable key of 16 to 32 bytes
// and a value below 1000. The loop stops at anything else, and where room or a limit might not do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/store/item/value_reply.hpp"
#include "server/store/range/range_state.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only, while pinned.
struct PlainRun {
  static constexpr std::size_t kMostValueBytes = 999;

  const std::uint64_t* at;  ///< value words of entries; goes up to what is left
  const std::uint64_t* end;
  const std::uint64_t* asked_end;  ///< entries before it are asked for when their turn comes near
  char* out;                       ///< goes behind what was written
  std::size_t room;                ///< at `out`
  std::uint64_t bytes_left;        ///< of keys and values
  std::uint64_t flushed;           ///< items up to this cas unique are gone
  std::uint64_t newest;            ///< replies wait for those above; kNoHorizon: for none

  /// `state`: tells the far bound.
  void write(const RangeState& state) noexcept;
};

}  // namespace mxkv::server

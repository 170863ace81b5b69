// Writes the usual entries of a range as VALUE lines and data: a loop with few cases, whose state stays in
// registers.
//
// A usual item has no fields (flags, expiry, a client's cas), a printable key of 16 to 32 bytes and a
// value below 1000 bytes. The loop stops at any other entry, and where room or a limit might not suffice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/store/item/value_reply.hpp"
#include "server/store/range/plain_form.hpp"
#include "server/store/range/range_state.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only, while pinned.
struct PlainRun {
  static constexpr std::size_t kMostValueBytes = 999;

  const std::uint64_t* at;  ///< value words of entries; moves to the first entry left
  const std::uint64_t* end;
  const std::uint64_t* asked_end;  ///< entries before it are prefetched shortly before their turn
  char* out;                       ///< moves behind the bytes written
  std::size_t room;                ///< at `out`
  std::uint64_t bytes_left;        ///< of keys and values
  std::uint64_t flushed;           ///< a flush has taken items up to this order
  std::uint64_t newest;            ///< the reply would wait for the disk for items above; kNoHorizon: for
                                   ///< none

  /// `state`: has the far bound. `last`: the form of the page's last usual item.
  void write(const RangeState& state, PlainForm& last) noexcept;
};

}  // namespace mxkv::server

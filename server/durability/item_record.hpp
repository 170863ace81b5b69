// Converts items to puts, for the journal and for checkpoints alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "server/commit/record.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// The clock of the times in records.
enum class record_times : std::uint8_t {
  steady,  ///< in a data directory: the next process resumes the steady time (resumed_time.hpp)
  wall,    ///< between machines, since each has its own steady time
};

/// Converts steady seconds to those by the wall clock; 0 stays never. Thread-safety: any thread.
[[nodiscard]] inline std::uint32_t wall_expiry(std::uint32_t expiry, std::int64_t wall_ahead_s) noexcept {
  constexpr std::int64_t kLast = std::numeric_limits<std::uint32_t>::max();
  return expiry == 0 ? 0
                     : static_cast<std::uint32_t>(std::clamp<std::int64_t>(expiry + wall_ahead_s, 1, kLast));
}

/// The reverse.
[[nodiscard]] inline std::uint32_t steady_expiry(std::uint32_t expiry, std::int64_t wall_ahead_s) noexcept {
  return wall_expiry(expiry, -wall_ahead_s);
}

/// The put of an item without its access age; a large value is apart. `expiry`: by the record's clock. Refers
/// to the item. Thread-safety: any thread that may read the item.
[[nodiscard]] inline PutRecord record_of(const Item::View& view, std::uint32_t expiry) noexcept {
  const Item& item = view.item();
  const bool apart = view.large();
  return {.order = item.order(),
          .key = view.key(),
          .value = apart ? std::string_view{} : view.value(),
          .apart_bytes = apart ? view.value_bytes() : 0,
          .cas = item.has_cas_field() ? item.cas() : 0,
          .flags = view.flags(),
          .expiry = expiry,
          .marks = static_cast<std::uint8_t>(item.marks()),
          .has_cas = item.has_cas_field()};
}

}  // namespace mxkv::server

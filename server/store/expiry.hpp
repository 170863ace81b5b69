// Times to live: what a client sends as exptime, and whether an item is past it.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// Relative times end here; larger numbers are absolute unix seconds (protocol.md rule 13).
inline constexpr std::int64_t kRelativeSecondsAtMost = std::int64_t{60} * 60 * 24 * 30;

/// Some clients, libmemcached's among them, send a negative time as 32 bits without a sign. The last 30 days
/// that those can hold, in the year 2106, are taken as that.
inline constexpr std::int64_t kNegativeIn32Bits = 0x1'0000'0000 - kRelativeSecondsAtMost;

/// Unix seconds at which an item expires, 0 for never. Past times give 1: long ago. Far ones are cut to the
/// last second that 32 bits hold (the year 2106).
[[nodiscard]] constexpr std::uint32_t expiry_from(std::int64_t exptime, std::uint64_t now_us) noexcept {
  if (exptime == 0) {
    return 0;
  }
  if (exptime < 0 || (exptime >= kNegativeIn32Bits && exptime <= 0xFFFF'FFFF)) {
    return 1;
  }
  const auto now = static_cast<std::int64_t>(now_us / 1'000'000);
  const std::int64_t at = exptime <= kRelativeSecondsAtMost ? now + exptime : exptime;
  if (at <= now) {
    return 1;
  }
  constexpr std::int64_t kLast = 0xFFFF'FFFF;
  return static_cast<std::uint32_t>(at < kLast ? at : kLast);
}

[[nodiscard]] constexpr bool is_expired(std::uint32_t expiry, std::uint64_t now_us) noexcept {
  return expiry != 0 && expiry <= now_us / 1'000'000;
}

}  // namespace mxkv::server

// Times to live: converts the exptime of a client, and decides whether an item has expired.
//
// Items expire by the steady time, which no operator can set (runtime/base/clock.hpp). A relative exptime
// counts from the steady time of now. An absolute one is a time of the wall clock: on arrival it is moved to
// the steady time by the current difference of the two. So a stored item keeps its time to live, whatever
// happens to the wall clock later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

inline constexpr std::uint64_t kUsPerSecond = 1'000'000;

/// Relative times end here; larger numbers are absolute unix seconds (protocol rule 13).
inline constexpr std::int64_t kRelativeSecondsAtMost = std::int64_t{60} * 60 * 24 * 30;

/// Some clients, libmemcached's among them, send a negative time as 32 bits without a sign. So the last 30
/// days that 32 bits can hold, in the year 2106, count as negative.
inline constexpr std::int64_t kNegativeIn32Bits = 0x1'0000'0000 - kRelativeSecondsAtMost;

/// The moment that an exptime counts from.
struct Moment {
  Moment(std::uint64_t steady_us, const runtime::Clock& at) noexcept : now_us(steady_us), clock(at) {}
  explicit Moment(runtime::Worker& worker) noexcept : Moment(worker.now_us(), worker.runtime().clock()) {}

  std::uint64_t now_us;         ///< steady
  const runtime::Clock& clock;  ///< its wall time is read only for absolute times
};

/// The steady second at which an item expires, 0 for never. Past times give 1: long ago. Far times are cut to
/// the last second that 32 bits hold (the year 2106).
[[nodiscard]] inline std::uint32_t expiry_from(std::int64_t exptime, const Moment& moment) noexcept {
  if (exptime == 0) {
    return 0;
  }
  if (exptime < 0 || (exptime >= kNegativeIn32Bits && exptime <= 0xFFFF'FFFF)) {
    return 1;
  }
  constexpr std::int64_t kLast = 0xFFFF'FFFF;
  constexpr std::int64_t kFarthest = 4 * kLast;  // beyond this no clock makes a difference
  const auto now = static_cast<std::int64_t>(moment.now_us / kUsPerSecond);
  const std::int64_t at = exptime <= kRelativeSecondsAtMost
                              ? now + exptime
                              : std::min(exptime, kFarthest) - moment.clock.wall_ahead_s();
  return at <= now ? 1 : static_cast<std::uint32_t>(std::min(at, kLast));
}

/// The steady time at which a flush_all with this delay takes effect; 0: at once. A time in the past is no
/// delay.
[[nodiscard]] inline std::uint64_t flush_time_us(std::int64_t delay, const Moment& moment) noexcept {
  const std::uint64_t at_us = std::uint64_t{expiry_from(delay, moment)} * kUsPerSecond;
  return at_us > moment.now_us ? at_us : 0;
}

[[nodiscard]] constexpr bool is_expired(std::uint32_t expiry, std::uint64_t now_us) noexcept {
  return expiry != 0 && expiry <= now_us / kUsPerSecond;
}

}  // namespace mxkv::server

// The access code of an item: 11 bits that say how often clients read it, and how old it was at the last read.
//
//    10   9 8            0
//   +------+--------------+
//   | reads | age         |
//   +------+--------------+
//
// The reads belong to the key: a new value keeps them, and they end at 3. The age belongs to the value: 0
// means that no client has read it. Ages count in steps of 2^18 us, of which the first five binary digits
// matter: they are exact to 0.26 s below 8 s, to 6 % of the age above, and never end. A smaller error would
// cost range: with 3 % ages would end after three days, and an item that is read every second would look
// idle from then on.
//
// Pure functions. Thread-safety: any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mxkv::server::access_code {

inline constexpr unsigned kAgeBits = 9;
inline constexpr std::uint32_t kMostAge = (1U << kAgeBits) - 1;
inline constexpr std::uint32_t kMostReads = 3;

/// The steps in which ages are counted.
inline constexpr std::uint64_t kStepUs = std::uint64_t{1} << 18U;

/// The age code of a read at `now_us` of an item that was made at `made_us`: 1 to kMostAge.
[[nodiscard]] constexpr std::uint32_t age_at(std::uint64_t now_us, std::uint64_t made_us) noexcept {
  const std::uint64_t age = now_us > made_us ? ((now_us - made_us) >> 18U) + 1 : 1;
  if (age < 32) [[likely]] {
    return static_cast<std::uint32_t>(age);
  }
  const auto dropped = static_cast<unsigned>(std::bit_width(age)) - 5;
  return std::min(static_cast<std::uint32_t>((dropped << 4U) + (age >> dropped)), kMostAge);
}

/// The age (us) of this code: the greatest one, in whole steps, so that an old item that was just read does not look
/// idle. So it may lie ahead of the clock, and less than a step behind the read. 0 if no client has read the value.
[[nodiscard]] constexpr std::uint64_t age_us(std::uint32_t code) noexcept {
  const std::uint32_t age = code & kMostAge;
  const unsigned dropped = age < 32 ? 0 : (age >> 4U) - 1;
  return age == 0 ? 0 : ((std::uint64_t{age - (dropped << 4U) + 1} << dropped) - 2) << 18U;
}

[[nodiscard]] constexpr std::uint32_t reads(std::uint32_t code) noexcept {
  return code >> kAgeBits;
}

/// Whether a client has read the value.
[[nodiscard]] constexpr bool accessed(std::uint32_t code) noexcept {
  return (code & kMostAge) != 0;
}

/// A code of records that have no reads: the age in steps of 2^20 us, to eight binary digits. An item that
/// was read gets one read.
[[nodiscard]] constexpr std::uint32_t of_older(std::uint32_t code) noexcept {
  if (code == 0) {
    return 0;
  }
  const unsigned dropped = code < 256 ? 0 : (code >> 7U) - 1;
  const std::uint64_t age = std::uint64_t{code - (dropped << 7U)} << dropped;
  return 1U << kAgeBits | age_at((age - 1) << 20U, 0);
}

}  // namespace mxkv::server::access_code

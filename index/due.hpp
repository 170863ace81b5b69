// When a task should next look at a leaf: a point in time in eleven bits beside the leaf's order floor.
//
// Points are counted in steps of kSecondsAStep and compared as serial numbers: which of two comes first is
// known as long as they are less than half a round (about two and a quarter hours) apart. So points further
// ahead than kMostAhead are brought forward; the task that looks then finds that it came too early, and sets
// a new point.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::index {

class Due {
 public:
  static constexpr unsigned kBits = 11;
  static constexpr std::uint64_t kSecondsAStep = 8;
  /// In steps. The rest of half a round is how late the look may come.
  static constexpr std::uint64_t kMostAhead = 900;

  constexpr Due() noexcept = default;  ///< never
  /// The end of the step that a time (unix seconds) is in.
  static constexpr Due at(std::uint64_t seconds, std::uint64_t now_seconds) noexcept {
    const std::uint64_t now = now_seconds / kSecondsAStep;
    const std::uint64_t step = std::clamp(seconds / kSecondsAStep + 1, now, now + kMostAhead);
    return Due{static_cast<std::uint16_t>(1 + step % kRound)};
  }
  /// As it was stored.
  static constexpr Due from_bits(std::uint64_t bits) noexcept {
    return Due{static_cast<std::uint16_t>(bits)};
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return number_; }
  [[nodiscard]] constexpr bool never() const noexcept { return number_ == 0; }
  /// Seconds from now until then, 0 if it has come. Not of never().
  [[nodiscard]] constexpr std::uint64_t seconds_left(std::uint64_t now_seconds) const noexcept {
    MXKV_DCHECK(!never(), "what never comes is not ahead");
    const std::uint64_t now = now_seconds / kSecondsAStep;
    const std::uint64_t ahead = (number_ - 1U + kRound - now % kRound) % kRound;
    return ahead < kRound / 2 ? ahead * kSecondsAStep : 0;
  }
  [[nodiscard]] constexpr bool reached(std::uint64_t now_seconds) const noexcept {
    return !never() && seconds_left(now_seconds) == 0;
  }
  /// The earlier of the two.
  [[nodiscard]] constexpr Due or_sooner(Due other) const noexcept {
    if (never() || other.never()) {
      return never() ? other : *this;
    }
    const unsigned behind = (number_ + kRound - other.number_) % kRound;
    return behind < kRound / 2 ? other : *this;
  }

 private:
  static constexpr unsigned kRound = (1U << kBits) - 1;

  constexpr explicit Due(std::uint16_t number) noexcept : number_(number) {}

  std::uint16_t number_ = 0;
};

}  // namespace mxkv::index

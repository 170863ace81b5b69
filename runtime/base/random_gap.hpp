// The gap to the next element of a random sample: each element of a stream is chosen by the same chance,
// whatever was chosen before. To take every n-th instead would meet the stream's own rhythm: if a client
// reads A and B in turn, every 64th read is one of B.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::runtime {

/// Gaps of the geometric distribution. Drawing one costs a logarithm. Thread-safety: owner only.
class RandomGap {
 public:
  explicit RandomGap(std::uint64_t seed) noexcept : random_(seed) {}

  /// One of `mean` elements is chosen; 1: each.
  void set_mean(std::uint32_t mean) noexcept {
    MXKV_ASSERT(mean > 0, "one of so many is chosen");
    per_log_ = 1 / std::log1p(-1 / static_cast<double>(mean));
  }
  /// The next chosen element is the n-th from here, n > 0. After set_mean().
  [[nodiscard]] std::uint64_t next() noexcept {
    constexpr double kPart = 0x1p-53;
    const double chance = static_cast<double>((random_() >> 11U) + 1) * kPart;  // above 0, 1 at most
    return 1 + static_cast<std::uint64_t>(std::log(chance) * per_log_);
  }

 private:
  Random random_;
  double per_log_ = 0;  ///< one by the logarithm of the chance that one is not chosen; 0: each is
};

}  // namespace mxkv::runtime

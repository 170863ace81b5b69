// A histogram of times: exponential buckets, with sixteen equal steps for each power of two, so that every
// value is known to 6 %. One thread writes; any thread may read meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Thread-safety: add() owner worker only; the rest any thread.
class LatencyHistogram {
 public:
  static constexpr unsigned kStepBits = 4;
  static constexpr unsigned kSteps = 1U << kStepBits;
  static constexpr unsigned kLargestPower = 36;  ///< 2^36 ns is more than a minute
  static constexpr std::size_t kBuckets = std::size_t{kLargestPower - kStepBits + 1} * kSteps;
  using Counts = std::array<std::uint64_t, kBuckets>;

  void add(std::uint64_t nanoseconds) noexcept {
    std::atomic<std::uint64_t>& count = counts_[bucket_of(nanoseconds)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Adds the counts to `sum`.
  void add_to(Counts& sum) const noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      sum[i] += counts_[i].load(std::memory_order_relaxed);
    }
  }

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    constexpr std::uint64_t kGreatest = (std::uint64_t{1} << kLargestPower) - 1;
    value = value < kGreatest ? value : kGreatest;
    if (value < kSteps) {
      return static_cast<std::size_t>(value);
    }
    const auto power = static_cast<unsigned>(std::bit_width(value)) - 1;
    const auto step = static_cast<unsigned>(value >> (power - kStepBits)) - kSteps;
    return (power - kStepBits + 1) * kSteps + step;
  }
  /// The greatest value that the bucket counts.
  [[nodiscard]] static constexpr std::uint64_t greatest_of(std::size_t bucket) noexcept {
    MXKV_ASSERT(bucket < kBuckets, "a bucket of this histogram");
    if (bucket < kSteps) {
      return bucket;
    }
    const unsigned shift = static_cast<unsigned>(bucket / kSteps) - 1;
    return ((std::uint64_t{kSteps} + bucket % kSteps + 1) << shift) - 1;
  }
  /// The value that `per_million` of a million values do not exceed; 0 if nothing was counted.
  [[nodiscard]] static std::uint64_t percentile(const Counts& counts, std::uint64_t per_million) noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts) {
      all += count;
    }
    std::uint64_t left = (all * per_million + 999'999) / 1'000'000;
    for (std::size_t i = 0; i < kBuckets && left > 0; ++i) {
      if (counts[i] >= left) {
        return greatest_of(i);
      }
      left -= counts[i];
    }
    return 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};  // relaxed: statistics
};

}  // namespace mxkv::server

// Counts of latencies in buckets whose width grows with the value, so that every percentile is right to 1 %.
//
// As in HdrHistogram each power of two is cut into 128 equal buckets; values below 128 are exact. Recording
// is a shift and an increment. Debian has no such library for C++, hence our own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace mxkv::bench {

/// Latencies in nanoseconds up to 2^40 (18 minutes); longer ones count as that. Thread-safety: owner only.
class Histogram {
 public:
  static constexpr unsigned kPrecisionBits = 7;
  static constexpr unsigned kMaxBits = 40;

  void record(std::uint64_t value_ns) noexcept {
    const std::uint64_t value = std::min(value_ns, kMaxValue);
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  void merge(const Histogram& other) noexcept;
  /// Empties the histogram.
  void clear() noexcept { *this = Histogram(); }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// 0 if the histogram is empty; so are min, max and percentiles.
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ != 0 ? min_ : 0; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// The greatest value of the bucket that holds the percentile (0 to 100]: exact to 1 / 128, never too low.
  [[nodiscard]] std::uint64_t percentile(double percent) const noexcept;
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
  /// By bucket, how many values it holds.
  [[nodiscard]] std::span<const std::uint64_t> buckets() const noexcept { return buckets_; }

  static constexpr std::size_t kBuckets = std::size_t{kMaxBits - kPrecisionBits + 1} << kPrecisionBits;
  /// Which of `count` values in ascending order, the first being 1, is the percentile.
  static std::uint64_t rank_of(double percent, std::uint64_t count) noexcept;
  /// The greatest value that counts into a bucket.
  static constexpr std::uint64_t last_value_of(std::size_t bucket) noexcept {
    constexpr std::size_t kExact = std::size_t{1} << kPrecisionBits;
    if (bucket < 2 * kExact) {
      return bucket;
    }
    const std::size_t shift = (bucket >> kPrecisionBits) - 1;
    const std::uint64_t mantissa = bucket - (shift << kPrecisionBits);
    return ((mantissa + 1) << shift) - 1;
  }

 private:
  friend class SparseHistogram;

  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << kMaxBits) - 1;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    constexpr std::uint64_t kExact = std::uint64_t{1} << kPrecisionBits;
    if (value < kExact) {
      return static_cast<std::size_t>(value);
    }
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kPrecisionBits - 1;
    return (std::size_t{shift} << kPrecisionBits) + static_cast<std::size_t>(value >> shift);
  }

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

}  // namespace mxkv::bench

// A histogram that keeps only the buckets in use, for the latencies of a second of a run, or of a file.
//
// A second uses some hundred buckets of several thousand, so a run of an hour fits into a few megabytes. It
// has the same counts as the histogram it was made from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/client/histogram.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// Thread-safety: owner only.
class SparseHistogram {
 public:
  /// {bucket, count}, ascending by bucket, no count 0.
  using Buckets = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

  SparseHistogram() = default;
  explicit SparseHistogram(const Histogram& histogram);
  /// From parts, such as a file has them. Fails if they contradict each other.
  static runtime::Result<SparseHistogram> from_parts(Buckets buckets, std::uint64_t sum, std::uint64_t min,
                                                     std::uint64_t max);

  void merge(const SparseHistogram& other);
  /// Adds all of it to a histogram.
  void add_to(Histogram& histogram) const noexcept;

  [[nodiscard]] const Buckets& buckets() const noexcept { return buckets_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ != 0 ? min_ : 0; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// The same as the histogram's.
  [[nodiscard]] std::uint64_t percentile(double percent) const noexcept;

 private:
  Buckets buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

}  // namespace mxkv::bench

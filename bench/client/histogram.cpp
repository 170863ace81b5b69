#include "bench/client/histogram.hpp"

#include <cmath>

namespace mxkv::bench {

void Histogram::merge(const Histogram& other) noexcept {
  if (other.count_ == 0) {
    return;
  }
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets_[i] += other.buckets_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double Histogram::mean() const noexcept {
  return count_ != 0 ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
}

std::uint64_t Histogram::rank_of(double percent, std::uint64_t count) noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count)));
  return std::max<std::uint64_t>(std::min(wanted, count), 1);
}

std::uint64_t Histogram::percentile(double percent) const noexcept {
  const std::uint64_t rank = rank_of(percent, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) {
      return std::min(last_value_of(i), max_);
    }
  }
  return 0;
}

}  // namespace mxkv::bench

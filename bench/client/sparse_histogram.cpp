#include "bench/client/sparse_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace mxkv::bench {

SparseHistogram::SparseHistogram(const Histogram& histogram)
    : count_(histogram.count_), sum_(histogram.sum_), min_(histogram.min_), max_(histogram.max_) {
  for (std::size_t i = 0; i < Histogram::kBuckets && count_ != 0; ++i) {
    if (histogram.buckets_[i] != 0) {
      buckets_.emplace_back(static_cast<std::uint32_t>(i), histogram.buckets_[i]);
    }
  }
}

runtime::Result<SparseHistogram> SparseHistogram::from_parts(Buckets buckets, std::uint64_t sum,
                                                             std::uint64_t min, std::uint64_t max) {
  SparseHistogram made;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (buckets[i].first >= Histogram::kBuckets || buckets[i].second == 0 ||
        (i > 0 && buckets[i].first <= buckets[i - 1].first)) {
      return runtime::Error{"the buckets of a histogram are not in order, or beyond its range"};
    }
    made.count_ += buckets[i].second;
  }
  if (!buckets.empty()) {
    if (Histogram::bucket_of(min) != buckets.front().first ||
        Histogram::bucket_of(max) != buckets.back().first) {
      return runtime::Error{"least and greatest value of a histogram are not in its buckets"};
    }
    made.sum_ = sum;
    made.min_ = min;
    made.max_ = max;
  }
  made.buckets_ = std::move(buckets);
  return made;
}

void SparseHistogram::merge(const SparseHistogram& other) {
  Buckets merged;
  merged.reserve(buckets_.size() + other.buckets_.size());
  auto mine = buckets_.begin();
  auto theirs = other.buckets_.begin();
  while (mine != buckets_.end() || theirs != other.buckets_.end()) {
    if (theirs == other.buckets_.end() || (mine != buckets_.end() && mine->first < theirs->first)) {
      merged.push_back(*mine++);
    } else if (mine == buckets_.end() || theirs->first < mine->first) {
      merged.push_back(*theirs++);
    } else {
      merged.emplace_back(mine->first, mine->second + theirs->second);
      ++mine;
      ++theirs;
    }
  }
  buckets_ = std::move(merged);
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void SparseHistogram::add_to(Histogram& histogram) const noexcept {
  for (const auto& [bucket, count] : buckets_) {
    histogram.buckets_[bucket] += count;
  }
  histogram.count_ += count_;
  histogram.sum_ += sum_;
  histogram.min_ = std::min(histogram.min_, min_);
  histogram.max_ = std::max(histogram.max_, max_);
}

double SparseHistogram::mean() const noexcept {
  return count_ != 0 ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
}

std::uint64_t SparseHistogram::percentile(double percent) const noexcept {
  const std::uint64_t rank = Histogram::rank_of(percent, count_);
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += count;
    if (seen >= rank) {
      return std::min(Histogram::last_value_of(bucket), max_);
    }
  }
  return 0;
}

}  // namespace mxkv::bench

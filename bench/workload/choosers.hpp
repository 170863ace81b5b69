// YCSB's request distributions beside the zipfian ones: uniform, sequential, exponential and hotspot.
//
// Each is YCSB's generator as a formula over random numbers. The caller draws again if the result is beyond
// the existing records.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>

#include "bench/workload/uniform.hpp"

namespace mxkv::bench {

/// Thread-safety of all choosers: owner only, except SequentialChooser's counter: any thread.
class UniformChooser {
 public:
  UniformChooser(std::uint64_t first, std::uint64_t count) noexcept : first_(first), count_(count) {}
  std::uint64_t next(runtime::Random& random) const noexcept { return first_ + next_below(random, count_); }

 private:
  std::uint64_t first_;
  std::uint64_t count_;
};

/// One record after the other, over and over; all threads share the counter.
class SequentialChooser {
 public:
  SequentialChooser(std::uint64_t first, std::uint64_t count, std::atomic<std::uint64_t>& counter) noexcept
      : first_(first), count_(count), counter_(&counter) {}
  std::uint64_t next() const noexcept {
    return first_ + counter_->fetch_add(1, std::memory_order_relaxed) % count_;
  }

 private:
  std::uint64_t first_;
  std::uint64_t count_;
  std::atomic<std::uint64_t>* counter_;  // relaxed: only hands out numbers, pairs with nothing
};

/// Counts back from the newest record: `percentile` per cent of the draws fall into the newest `range`
/// records.
class ExponentialChooser {
 public:
  ExponentialChooser(double percentile, double range) noexcept
      : gamma_(-std::log(1.0 - percentile / 100.0) / range) {}
  /// Nothing if the draw goes back beyond record 0.
  std::optional<std::uint64_t> next(runtime::Random& random, std::uint64_t newest) const noexcept {
    const double back = -std::log(next_unit(random)) / gamma_;
    return back < static_cast<double>(newest) + 1 ? std::optional(newest - static_cast<std::uint64_t>(back))
                                                  : std::nullopt;
  }

 private:
  double gamma_;
};

/// The first `data_share` of the records gets `operation_share` of the draws; uniform within each part.
class HotspotChooser {
 public:
  HotspotChooser(std::uint64_t first, std::uint64_t count, double data_share, double operation_share) noexcept
      : first_(first),
        hot_(hot_of(count, data_share)),
        cold_(count - hot_),
        operation_share_(operation_share) {}
  std::uint64_t next(runtime::Random& random) const noexcept {
    return next_unit(random) < operation_share_ ? first_ + next_below(random, hot_)
                                                : first_ + hot_ + next_below(random, cold_);
  }
  /// The number of hot records.
  static std::uint64_t hot_of(std::uint64_t count, double data_share) noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(count) * data_share);
  }

 private:
  std::uint64_t first_;
  std::uint64_t hot_;
  std::uint64_t cold_;
  double operation_share_;
};

}  // namespace mxkv::bench

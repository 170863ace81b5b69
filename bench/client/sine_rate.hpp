// A rate of operations that follows the hours of a day: mean + a sin(b t + c), t in seconds.
//
// RocksDB's mixgraph models the rate of requests so: Cao et al., "Characterizing, Modeling, and Benchmarking RocksDB
// Key-Value Workloads at Facebook" (FAST 20). db_bench changes the rate in steps; here it changes with each operation.
#pragma once

#include <algorithm>
#include <cmath>

namespace mxkv::bench {

struct SineRate {
  double amplitude_per_s = 0;  ///< a, below the mean; 0: the rate is constant
  double radians_per_s = 0;    ///< b
  double phase = 0;            ///< c

  [[nodiscard]] double rate(double mean_per_s, double at_s) const noexcept {
    return mean_per_s + amplitude_per_s * std::sin(radians_per_s * at_s + phase);
  }
  /// How many operations are due from the start until then: the integral of the rate.
  [[nodiscard]] double operations(double mean_per_s, double until_s) const noexcept {
    if (radians_per_s == 0) {
      return rate(mean_per_s, 0) * until_s;
    }
    return mean_per_s * until_s +
           amplitude_per_s / radians_per_s * (std::cos(phase) - std::cos(radians_per_s * until_s + phase));
  }
  /// When so many operations are due. `from_s`: a time at which no more are due. Newton's method within bounds.
  [[nodiscard]] double time_of(double mean_per_s, double wanted, double from_s) const noexcept {
    constexpr int kMostSteps = 100;
    constexpr double kExact_s = 1e-10;
    double low = from_s;
    double high = from_s +
                  (wanted - operations(mean_per_s, from_s)) / (mean_per_s - std::abs(amplitude_per_s)) +
                  kExact_s;
    double at = low;
    for (int step = 0; step < kMostSteps && high - low > kExact_s; ++step) {
      const double missing = wanted - operations(mean_per_s, at);
      (missing > 0 ? low : high) = at;
      const double next = at + missing / rate(mean_per_s, at);
      if (std::abs(next - at) < kExact_s) {
        break;
      }
      at = next > low && next < high ? next : (low + high) / 2;
    }
    return at;
  }
};

}  // namespace mxkv::bench

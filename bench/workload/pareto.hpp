// The generalised Pareto distribution, for lengths of values and scans.
//
// Facebook's values and scans follow it: Cao et al., "Characterizing, Modeling, and Benchmarking RocksDB Key-Value
// Workloads at Facebook" (FAST 20), section 7. Its cumulative distribution is
//   F(x) = 1 - (1 + k (x - theta) / sigma)^(-1/k), and for k = 0: 1 - exp(-(x - theta) / sigma).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mxkv::bench {

struct Pareto {
  double k = 0;      ///< shape; with 1 or more there is no mean
  double sigma = 1;  ///< scale
  double theta = 0;  ///< location: the least value

  /// The value below which the part `unit` of [0, 1) lies.
  [[nodiscard]] double quantile(double unit) const noexcept {
    const double rest = 1 - unit;
    return k == 0 ? theta - sigma * std::log(rest) : theta + sigma * (std::pow(rest, -k) - 1) / k;
  }
};

/// A drawn value as a length of [least, most]. As in RocksDB's db_bench, a greater value is replaced by its
/// remainder, so that a heavy tail does not pile up at the limit.
inline std::uint64_t folded_length(double drawn, std::uint64_t least, std::uint64_t most) noexcept {
  constexpr double kMost = 1e18;
  const auto whole = static_cast<std::uint64_t>(std::clamp(drawn, 0.0, kMost));
  return std::max(whole > most ? whole % most : whole, least);
}

}  // namespace mxkv::bench

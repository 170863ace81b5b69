// Requests by hot and cold ranges of keys: RocksDB's mixgraph with its model "prefix_dist".
//
// Cao et al., "Characterizing, Modeling, and Benchmarking RocksDB Key-Value Workloads at Facebook" (FAST 20), section 7.
// The keys in their order are cut into ranges of equal length. Range number i has the weight a exp(b i) + c exp(d i);
// the numbers are dealt over the key space in a fixed shuffled order. Within a range, popularity follows the power
// x = (u / key_a)^(1 / key_b), whose results a hash spreads over the range.
// Names and defaults are db_bench's. Needs insertorder=ordered: only then neighbouring records are neighbouring keys.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::bench {

struct KeyRangeSpec {
  double a = 14.18;  ///< keyrange_dist_a and so on
  double b = -2.917;
  double c = 0.0164;
  double d = -0.08082;
  std::uint32_t ranges = 30;  ///< keyrange_num
  double key_a = 0.002312;    ///< key_dist_a; 0: uniform within a range
  double key_b = 0.3467;      ///< key_dist_b; 0: the same

  /// The weight of range number `number`, from 1 on; never below 0.
  [[nodiscard]] double weight(std::uint32_t number) const noexcept;
  /// The sum of all weights.
  [[nodiscard]] double sum() const noexcept;
};

/// Thread-safety: owner only.
class KeyRangeChooser {
 public:
  /// Over the records [first, first + count), count at least spec.ranges, spec.sum() above 0.
  KeyRangeChooser(std::uint64_t first, std::uint64_t count, const KeyRangeSpec& spec);

  std::uint64_t next(runtime::Random& random) const noexcept;

  /// The part of all requests that goes to the range at this position of the key space.
  [[nodiscard]] double part(std::size_t position) const noexcept;
  /// The first record of the range at this position; of position `ranges`, the end of all records.
  [[nodiscard]] std::uint64_t begin_of(std::size_t position) const noexcept;

 private:
  std::uint64_t first_;
  std::uint64_t count_;
  double key_a_;
  double key_b_;
  std::vector<double> ends_;  // by position: the sum of all parts up to this range's end
};

}  // namespace mxkv::bench

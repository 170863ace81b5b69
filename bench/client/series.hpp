// A run in slices of a second: how many operations ended in each, and how long they took.
//
// Client threads keep a tally of the second they are in; when it is over they hand it in here, so that
// nothing is shared while operations are counted.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bench/client/sparse_histogram.hpp"
#include "bench/client/tally.hpp"
#include "bench/workload/spec.hpp"

namespace mxkv::bench {

/// One second, or the rest of one at the end.
struct Second {
  std::uint64_t length_ns = 0;
  std::uint64_t operations = 0;  ///< a read-modify-write is one
  std::uint64_t failures = 0;    ///< misses included
  /// By kind; from the due time where the run was paced, from the sending where not.
  std::array<SparseHistogram, kOperationKinds> latency;

  void merge(const Second& other);
  /// All kinds in one.
  [[nodiscard]] SparseHistogram all() const;
};

/// Seconds by their number, counted from the end of the warm-up. Thread-safety: owner only.
using Series = std::vector<Second>;

/// Adds what one thread or client counted in a second; seconds before it in which nobody counted have full
/// length.
void add_second(Series& series, std::size_t number, const Second& second);

/// Where the threads hand in their seconds. Thread-safety: any thread.
class SharedSeries {
 public:
  /// Into the series.
  void add(std::size_t number, const Second& second);
  /// Into what take_recent() gives, warm-up or not.
  void note(const Second& second);
  /// What was noted since the last call, in one; for the progress line.
  Second take_recent();
  /// A copy of all.
  [[nodiscard]] Series all() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  Series series_;
  Second recent_;
};

}  // namespace mxkv::bench

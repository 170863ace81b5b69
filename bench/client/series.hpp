// A run in slices of a second: the number of operations that ended in each, and their latencies.
//
// Client threads keep a tally of the current second, and add it here when the second is over. So they share
// no data while they count operations.
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
  /// By kind; from the due time if the run was paced, else from the sending.
  std::array<SparseHistogram, kOperationKinds> latency;

  void merge(const Second& other);
  /// All kinds in one.
  [[nodiscard]] SparseHistogram all() const;
};

/// Seconds by their number, counted from the end of the warm-up. Thread-safety: owner only.
using Series = std::vector<Second>;

/// Adds the counts of one thread or client in a second. Earlier seconds without counts have full length.
void add_second(Series& series, std::size_t number, const Second& second);

/// The series that all threads add their seconds to. Thread-safety: any thread.
class SharedSeries {
 public:
  /// Adds a second to the series.
  void add(std::size_t number, const Second& second);
  /// Adds a second to the result of take_recent(), in the warm-up, too.
  void note(const Second& second);
  /// The sum of the seconds noted since the last call, for the progress line.
  Second take_recent();
  /// A copy of all.
  [[nodiscard]] Series all() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  Series series_;
  Second recent_;
};

}  // namespace mxkv::bench

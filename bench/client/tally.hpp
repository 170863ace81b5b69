// The counters of a client thread: latencies and outcomes for each kind of operation, and verified values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bench/client/histogram.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/spec.hpp"

namespace mxkv::bench {

/// One kind of operation.
struct KindTally {
  Histogram latency;   ///< from the sending
  Histogram intended;  ///< from the due time; empty if the run was not paced
  std::uint64_t ok = 0;
  std::uint64_t not_found = 0;
  std::uint64_t wrong = 0;
  std::uint64_t error = 0;

  void record(Outcome outcome, std::uint64_t latency_ns) noexcept;
  void merge(const KindTally& other) noexcept;
};

/// The gets of a trace, and the bytes of their values by the trace's sizes.
struct CacheFigures {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t hit_bytes = 0;
  std::uint64_t miss_bytes = 0;

  void merge(const CacheFigures& other) noexcept;
  /// The part of the gets that hit; 0 if there were none.
  [[nodiscard]] double hit_ratio() const noexcept;
  /// The part of the bytes that hit; 0 if there were none.
  [[nodiscard]] double byte_hit_ratio() const noexcept;
};

/// Thread-safety: owner only.
struct Tally {
  std::array<KindTally, kOperationKinds> kinds;
  std::uint64_t retries = 0;  ///< refused inserts that were sent again
  std::uint64_t halves =
      0;               ///< reads and updates that are parts of read-modify-writes, and sets that fill misses
  CacheFigures cache;  ///< of a trace

  KindTally& of(OperationKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const KindTally& of(OperationKind kind) const noexcept {
    return kinds[static_cast<std::size_t>(kind)];
  }
  void merge(const Tally& other) noexcept;
  void clear() noexcept;
  /// Requests that ended; a read-modify-write counts as its two halves and as a whole.
  [[nodiscard]] std::uint64_t requests() const noexcept;
  /// Operations that ended; a read-modify-write is one.
  [[nodiscard]] std::uint64_t operations() const noexcept;
  /// Requests that failed; with `misses_allowed`, not_found is no failure.
  [[nodiscard]] std::uint64_t failures(bool misses_allowed) const noexcept;
};

}  // namespace mxkv::bench

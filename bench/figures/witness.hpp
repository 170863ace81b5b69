// Shows whether operations that must exclude each other did: two counters at a piece of data.
//
// A writer adds one to the first counter, works, and adds one to the second, each by a load and a store, not
// by one atomic step. So the counters differ while an operation writes, and an addition is lost if two
// operations write at once. A reader that finds the counters different, or changed at its end, ran beside a
// writer.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/cache_line.hpp"

namespace mxkv::bench {

/// The counters of a worker or thread; only it uses them until all have ended.
struct alignas(runtime::kCacheLineBytes) Tally {
  std::uint64_t executed = 0;   ///< operations
  std::uint64_t failed = 0;     ///< operations, of the executed, that found no data to work on
  std::uint64_t written = 0;    ///< data written, each with a witness
  std::uint64_t disturbed = 0;  ///< data that another operation wrote meanwhile
  std::uint64_t away = 0;       ///< operations without a bucket of the worker, by Toggle
  std::uint64_t sum = 0;        ///< of all data read, so that the compiler cannot leave out the reads
};

// Relaxed: the holder of the data is its only writer. Passing the data on orders it after the previous
// holder.
class Witness {
 public:
  [[nodiscard]] std::uint64_t writes() const noexcept { return ended_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool written_now() const noexcept {
    return begun_.load(std::memory_order_relaxed) != ended_.load(std::memory_order_relaxed);
  }

 private:
  friend class Reading;
  friend class Writing;
  static void add(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
};

class Reading {
 public:
  Reading(const Witness& witness, Tally& tally) noexcept
      : witness_(witness), tally_(tally), begun_(witness.begun_.load(std::memory_order_relaxed)) {
    tally_.disturbed += witness.written_now() ? 1 : 0;
  }
  ~Reading() { tally_.disturbed += witness_.begun_.load(std::memory_order_relaxed) == begun_ ? 0 : 1; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  const Witness& witness_;
  Tally& tally_;
  std::uint64_t begun_;
};

class Writing {
 public:
  Writing(Witness& witness, Tally& tally) noexcept : witness_(witness), tally_(tally) {
    tally_.disturbed += witness.written_now() ? 1 : 0;
    Witness::add(witness_.begun_);
  }
  ~Writing() {
    Witness::add(witness_.ended_);
    tally_.disturbed += witness_.written_now() ? 1 : 0;
    ++tally_.written;
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  Witness& witness_;
  Tally& tally_;
};

}  // namespace mxkv::bench

// What is measured once: so many operations of one workload, by some workers, on one container.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload/zipfian.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

enum class workload : std::uint8_t {
  load,    ///< from empty, in random order
  read,    ///< of records that are there
  mixed,   ///< half reads, half updates of records that are there
  insert,  ///< new records, into the loaded container
  scan,    ///< of kScanEntries entries from a record that is there
};
inline constexpr std::uint64_t kScanEntries = 100;

[[nodiscard]] constexpr const char* name_of(workload what) noexcept {
  constexpr const char* kNames[] = {"load", "read", "50/50 read/update", "insert", "scan of 100"};
  return kNames[static_cast<unsigned>(what)];
}

enum class distribution : std::uint8_t { uniform, zipfian };

[[nodiscard]] constexpr const char* name_of(distribution which) noexcept {
  return which == distribution::uniform ? "uniform" : "zipfian";
}

/// Which records a worker's operations are about. Thread-safety: one thread at a time.
class alignas(2 * runtime::kCacheLineBytes) Stream {
 public:
  /// Uniform over `records` records.
  Stream(std::uint64_t records, std::uint64_t seed) : records_(records), random_(seed) {}
  /// YCSB's scrambled zipfian. A draw takes longer than a look-up in cache, so that `draws` of them are made
  /// before and repeated.
  Stream(std::uint64_t records, std::uint64_t seed, std::size_t draws) : Stream(records, seed) {
    ScrambledZipfian zipfian{0, records};
    popular_.reserve(draws);
    for (std::size_t i = 0; i < draws; ++i) {
      popular_.push_back(static_cast<std::uint32_t>(zipfian.next(random_)));
    }
  }

  [[nodiscard]] std::uint64_t record() noexcept {
    if (popular_.empty()) {
      return random_.below(records_);
    }
    next_ = next_ + 1 < popular_.size() ? next_ + 1 : 0;
    return popular_[next_];
  }
  /// Whether the next operation of a mixed workload is an update.
  [[nodiscard]] bool update() noexcept { return (random_() >> 63U) != 0; }

 private:
  std::uint64_t records_;
  runtime::Random random_;
  std::vector<std::uint32_t> popular_;
  std::size_t next_ = 0;
};

struct Job {
  workload what = workload::read;
  std::vector<Stream>* streams = nullptr;  ///< one a worker, at least as many as workers
  unsigned workers = 1;
  std::uint64_t operations = 0;  ///< of each worker
  unsigned in_flight = 1;        ///< of each worker, for containers that have it
  std::uint64_t first_new = 0;   ///< worker i inserts the records from first_new + i * operations on
};

/// Where the bytes of a container are, an entry.
struct Part {
  std::string name;
  double bytes = 0;
};

/// Something that holds records, and is measured. Thread-safety: one thread; run() makes more.
class Container {
 public:
  Container() = default;
  virtual ~Container() = default;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether it can do that with so many workers, safely.
  [[nodiscard]] virtual bool can(workload what, unsigned workers) const = 0;
  /// Whether Job::in_flight means something.
  [[nodiscard]] virtual bool has_flights() const { return false; }
  /// Seconds that the job took, see timed(). Wrong results are counted.
  virtual double run(const Job& job) = 0;
  [[nodiscard]] virtual std::uint64_t wrong() const = 0;
  /// What is wrong with `records` entries that ought to be there now; empty: nothing.
  virtual std::string check(std::uint64_t records) = 0;
  /// Bytes an entry by part; empty: unknown.
  virtual std::vector<Part> parts(std::uint64_t records) = 0;
};

}  // namespace mxkv::bench

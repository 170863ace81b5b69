// One measurement: a number of operations of one workload, by some workers, on one container.
#pragma once

#include <atomic>
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
  read,    ///< of existing records
  mixed,   ///< half reads, half updates of existing records
  insert,  ///< new records, into the loaded container
  scan,    ///< of kScanEntries entries from an existing record
};
inline constexpr std::uint64_t kScanEntries = 100;

[[nodiscard]] constexpr const char* name_of(workload what) noexcept {
  constexpr const char* kNames[] = {"load", "read", "50/50 read/update", "insert", "scan of 100"};
  return kNames[static_cast<unsigned>(what)];
}

enum class distribution : std::uint8_t {
  uniform,
  zipfian,
  ascending,  ///< of new records: workers take turns at the next key
};

[[nodiscard]] constexpr const char* name_of(distribution which) noexcept {
  constexpr const char* kNames[] = {"uniform", "zipfian", "ascending"};
  return kNames[static_cast<unsigned>(which)];
}

/// The records of a worker's operations. Thread-safety: one thread at a time.
class alignas(2 * runtime::kCacheLineBytes) Stream {
 public:
  /// Uniform over `records` records.
  Stream(std::uint64_t records, std::uint64_t seed) : records_(records), random_(seed) {}
  /// YCSB's scrambled zipfian. A draw takes longer than a look-up in cache, so `draws` draws are made
  /// beforehand and repeated.
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
  unsigned in_flight = 1;        ///< of each worker, for containers with has_flights()
  std::uint64_t first_new = 0;   ///< worker i inserts the records from first_new + i * operations on
  /// Where it is not null, all workers insert the record that is next here. Relaxed: it orders no other data.
  std::atomic<std::uint64_t>* next_new = nullptr;
};

/// The records that one worker of a job inserts. Thread-safety: its worker.
class NewRecords {
 public:
  NewRecords() = default;
  NewRecords(const Job& job, unsigned worker) noexcept
      : own_(job.first_new + worker * job.operations), shared_(job.next_new) {}
  [[nodiscard]] std::uint64_t next() noexcept {
    return shared_ == nullptr ? own_++ : shared_->fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::uint64_t own_ = 0;
  std::atomic<std::uint64_t>* shared_ = nullptr;
};

/// Bytes an entry of one part of a container.
struct Part {
  std::string name;
  double bytes = 0;
};

/// A container of records to measure. Thread-safety: one thread; run() starts more.
class Container {
 public:
  Container() = default;
  virtual ~Container() = default;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether it can run this workload with so many workers safely.
  [[nodiscard]] virtual bool can(workload what, unsigned workers) const = 0;
  /// Whether it uses Job::in_flight.
  [[nodiscard]] virtual bool has_flights() const { return false; }
  /// Runs the job, and returns its seconds as timed() measures them. Counts wrong results.
  virtual double run(const Job& job) = 0;
  [[nodiscard]] virtual std::uint64_t wrong() const = 0;
  /// Checks that the container has `records` entries and is valid. Returns an error text, or an empty one.
  virtual std::string check(std::uint64_t records) = 0;
  /// Bytes an entry by part; empty: unknown.
  virtual std::vector<Part> parts(std::uint64_t records) = 0;
};

}  // namespace mxkv::bench

// A session: containers with the same records, measured by the same workers in turn.
//
// The containers are measured side by side, A B C A B C, once a round. A point is the median of the rounds,
// with the least and the greatest. Workloads that do not change the containers come before inserts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/index/job.hpp"

namespace mxkv::bench {

/// What to measure and how much.
struct Plan {
  std::uint64_t keys = 10'000'000;   ///< records of 64-bit and 24-byte keys; a fifth as many of longer keys
  std::uint64_t milliseconds = 200;  ///< least time of a measurement of reads, mixes and scans
  std::uint64_t rounds = 3;
  std::uint64_t inserts = 200'000;  ///< of a measurement
  std::vector<unsigned> workers{1, 2};
  std::vector<unsigned> flights{1, 2, 4, 8, 16, 24, 32, 48, 64};  ///< operations in flight, of reads
  std::vector<unsigned> few_flights{8, 16, 32, 64};               ///< of all other workloads
  std::string records = "64-bit";
  std::vector<std::string> only;                       ///< workloads by name_of(); empty: all
  std::uint64_t line_bytes = std::uint64_t{1} << 30U;  ///< of the memory behind the random lines
  bool peers = true;                                   ///< other containers are measured, too

  [[nodiscard]] bool wants(workload what) const {
    return only.empty() || std::find(only.begin(), only.end(), name_of(what)) != only.end();
  }
};

/// One line of the output, without the fields that are common to all.
struct Row {
  std::string records;
  std::string container;
  std::string what;  ///< workload, or "bytes an entry"
  std::string by;    ///< distribution, or the part of memory
  unsigned workers = 1;
  unsigned in_flight = 1;
  std::string unit;
  std::vector<double> rounds;
};

using Containers = std::vector<std::unique_ptr<Container>>;
using Print = std::function<void(const Row&)>;

/// Loads and measures; calls print(row) for each point. Returns an error text, or an empty one.
std::string run_session(const Plan& plan, std::uint64_t records, unsigned workers, Containers& containers,
                        const Print& print);

/// The sessions of a kind of records, one for each number of workers.
std::string measure_integers(const Plan& plan, const Print& print);
std::string measure_texts(const Plan& plan, const Print& print);
std::string measure_long_keys(const Plan& plan, const Print& print);

}  // namespace mxkv::bench

// A workload: the mix of operations, the records they go to, and the shape of a record. Its names come from
// YCSB's CoreWorkload; core_workload.hpp makes a spec from YCSB's properties.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/workload/fields.hpp"
#include "bench/workload/key_ranges.hpp"
#include "bench/workload/keys.hpp"
#include "bench/workload/pareto.hpp"

namespace mxkv::bench {

class Trace;

/// A read_modify_write is sent as a read and then an update; it is measured as a whole and as these two. A
/// multi_read asks for several records in one request. Three operations are atomic on many keys, and only
/// mxkv has them: a locked_scan is a scan at one point in time, a locked_touch sets the time to live of all
/// keys with a prefix, a batch writes several records.
enum class OperationKind : std::uint8_t {
  read,
  update,
  scan,
  insert,
  multi_read,
  locked_scan,
  locked_touch,
  batch,
  remove,
  read_modify_write,
};
inline constexpr std::size_t kOperationKinds = 10;

/// YCSB's name of a kind of operation in its report.
constexpr std::string_view report_name(OperationKind kind) noexcept {
  constexpr std::array<std::string_view, kOperationKinds> kNames{
      "READ",        "UPDATE",       "SCAN",  "INSERT", "MULTI-READ",
      "LOCKED-SCAN", "LOCKED-TOUCH", "BATCH", "DELETE", "READ-MODIFY-WRITE"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// The distribution of requests over records.
enum class Distribution : std::uint8_t {
  uniform,
  zipfian,
  latest,
  sequential,
  exponential,
  hotspot,
  key_ranges
};
/// The distribution of a scan's number of records.
enum class ScanLengths : std::uint8_t { uniform, zipfian, pareto };

/// The operations, their shares, and their records. Shares are relative to their sum.
struct Mix {
  double read = 0;
  double update = 0;
  double scan = 0;
  double insert = 0;
  double multi_read = 0;
  double locked_scan = 0;
  double locked_touch = 0;
  double batch = 0;
  double remove = 0;
  double read_modify_write = 0;
  Distribution distribution = Distribution::uniform;
  double hotspot_data = 0.2;                 ///< share of the records that are hot
  double hotspot_operations = 0.8;           ///< share of the requests that go to them
  double exponential_percentile = 95;        ///< per cent of the requests that go to the newest ..
  double exponential_newest = 0.8571428571;  ///< .. share of the records
  KeyRangeSpec key_ranges{};                 ///< of the distribution key_ranges
  ScanLengths scan_lengths = ScanLengths::uniform;
  Pareto scan_pareto{2.517, 14.236, 0};  ///< of Pareto lengths; db_bench's iter_k, iter_sigma, iter_theta
  std::uint32_t min_scan_length = 1;
  std::uint32_t max_scan_length = 1000;
  std::uint32_t multi_read_keys = 100;    ///< records a multi-read asks for
  std::size_t locked_prefix_bytes = 4;    ///< length of a locked touch's prefix of the chosen key
  std::uint32_t locked_touch_s = 86'400;  ///< the time to live that it sets
  std::uint32_t batch_length = 4;         ///< records a batch writes

  /// Whether replies are compared with the loaded keys in their order.
  [[nodiscard]] bool ranges() const noexcept { return scan > 0 || locked_scan > 0 || locked_touch > 0; }
};

/// A trace to be sent in place of the mix.
struct TraceReplay {
  std::shared_ptr<const Trace> trace;  ///< null: there is none
  double speed = 0;          ///< the trace's seconds are so many times shorter; 0: as fast as possible
  bool fill_misses = false;  ///< a get that misses is followed by a set
};

struct WorkloadSpec {
  Mix mix;
  TraceReplay replay;
  bool load = false;  ///< insert the records instead of running the mix
  std::uint64_t record_count = 1000;
  std::uint64_t operation_count = 1000;  ///< 0: no limit but the time; a load ignores it
  std::uint64_t insert_start = 0;        ///< first existing record
  std::uint64_t insert_count = 0;        ///< number of existing records; 0: all from insert_start on
  FieldSpec fields;
  std::uint32_t ttl_s = 0;  ///< time to live of every record written; 0: none
  std::size_t zero_padding = 1;
  bool ordered = false;                ///< keys are made of the records' numbers instead of their hashes
  std::uint32_t insert_retries = 0;    ///< how often a load retries a refused insert
  double insert_retry_interval_s = 3;  ///< seconds that it waits before a retry, give or take a fifth
  std::uint64_t seed = 1;

  /// Whether records may be gone in a right run, so that a miss is no failure.
  [[nodiscard]] bool misses_expected() const noexcept { return mix.remove > 0 || ttl_s > 0; }
  [[nodiscard]] std::uint64_t existing() const noexcept {
    return insert_count != 0 ? insert_count : record_count - insert_start;
  }
  /// The number that a record's key is made of.
  [[nodiscard]] std::uint64_t key_number(std::uint64_t record) const noexcept {
    return ordered ? record : fnv_hash64(record);
  }
};

}  // namespace mxkv::bench

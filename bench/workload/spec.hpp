// What a workload is: the mix of operations, the records they go to, and the shape of a record.
// The names are those of YCSB's CoreWorkload; core_workload.hpp makes a spec from its properties.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/workload/fields.hpp"
#include "bench/workload/keys.hpp"

namespace mxkv::bench {

/// A read_modify_write is sent as a read and then an update; it is measured as a whole and as these two.
/// A multi_read asks for several records in one request.
enum class OperationKind : std::uint8_t { read, update, scan, insert, multi_read, read_modify_write };
inline constexpr std::size_t kOperationKinds = 6;

/// YCSB's name of a kind of operation in its report.
constexpr std::string_view report_name(OperationKind kind) noexcept {
  constexpr std::array<std::string_view, kOperationKinds> kNames{"READ",   "UPDATE",     "SCAN",
                                                                 "INSERT", "MULTI-READ", "READ-MODIFY-WRITE"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Which records the requests go to.
enum class Distribution : std::uint8_t { uniform, zipfian, latest, sequential, exponential, hotspot };
/// How many records a scan asks for.
enum class ScanLengths : std::uint8_t { uniform, zipfian };

/// What is done, in which shares, and to which records. Shares are relative to their sum.
struct Mix {
  double read = 0;
  double update = 0;
  double scan = 0;
  double insert = 0;
  double multi_read = 0;
  double read_modify_write = 0;
  Distribution distribution = Distribution::uniform;
  double hotspot_data = 0.2;                 ///< share of the records that are hot
  double hotspot_operations = 0.8;           ///< share of the requests that go to them
  double exponential_percentile = 95;        ///< per cent of the requests that go to the newest ..
  double exponential_newest = 0.8571428571;  ///< .. share of the records
  ScanLengths scan_lengths = ScanLengths::uniform;
  std::uint32_t min_scan_length = 1;
  std::uint32_t max_scan_length = 1000;
  std::uint32_t multi_read_keys = 100;  ///< records a multi-read asks for
};

struct WorkloadSpec {
  Mix mix;
  bool load = false;  ///< insert the records instead of running the mix
  std::uint64_t record_count = 1000;
  std::uint64_t operation_count = 1000;  ///< 0: no limit but the time; a load ignores it
  std::uint64_t insert_start = 0;        ///< first record of those that exist
  std::uint64_t insert_count = 0;        ///< number of them; 0: all from insert_start on
  FieldSpec fields;
  std::size_t zero_padding = 1;
  bool ordered = false;                ///< keys are made of the records' numbers instead of their hashes
  std::uint32_t insert_retries = 0;    ///< how often a load tries a refused insert again
  double insert_retry_interval_s = 3;  ///< and how long it waits before, give or take a fifth
  std::uint64_t seed = 1;

  [[nodiscard]] std::uint64_t existing() const noexcept {
    return insert_count != 0 ? insert_count : record_count - insert_start;
  }
  /// The number that a record's key is made of.
  [[nodiscard]] std::uint64_t key_number(std::uint64_t record) const noexcept {
    return ordered ? record : fnv_hash64(record);
  }
};

}  // namespace mxkv::bench

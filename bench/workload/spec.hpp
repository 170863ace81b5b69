// What a workload is: the mix of operations, the records they go to, and the shape of a record.
// Names and defaults are those of YCSB's CoreWorkload; a record's fields are stored as one value, so its size
// is fieldcount * fieldlength and an update writes all of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mxkv::bench {

enum class OperationKind : std::uint8_t { read, update, scan, insert };
inline constexpr std::size_t kOperationKinds = 4;

/// YCSB's name of a kind of operation in its report.
constexpr std::string_view report_name(OperationKind kind) noexcept {
  constexpr std::array<std::string_view, kOperationKinds> kNames{"READ", "UPDATE", "SCAN", "INSERT"};
  return kNames[static_cast<std::size_t>(kind)];
}

enum class Distribution : std::uint8_t { uniform, zipfian, latest };

/// "uniform", "zipfian" or "latest"; nothing for any other name.
std::optional<Distribution> distribution_by_name(std::string_view name) noexcept;

/// Shares of the operations; they sum up to 1.
struct Mix {
  double read = 0;
  double update = 0;
  double scan = 0;
  double insert = 0;
  Distribution distribution = Distribution::zipfian;
  std::uint32_t min_scan_length = 1;
  std::uint32_t max_scan_length = 100;
};

/// YCSB's a, b, c, d, e; and get, set, scan: one kind of operation, uniform, scans of exactly 100.
std::optional<Mix> mix_by_name(std::string_view name) noexcept;

struct WorkloadSpec {
  Mix mix;
  bool load = false;  ///< insert the records instead of running the mix
  std::uint64_t record_count = 1000;
  std::uint64_t operation_count = 1000;  ///< 0: no limit but the time; a load ignores it
  std::uint64_t insert_start = 0;        ///< first record of those that exist
  std::uint64_t insert_count = 0;        ///< number of them; 0: all from insert_start on
  std::size_t value_bytes = 1000;
  std::size_t zero_padding = 1;
  std::uint64_t seed = 1;

  [[nodiscard]] std::uint64_t existing() const noexcept {
    return insert_count != 0 ? insert_count : record_count - insert_start;
  }
};

}  // namespace mxkv::bench

// Reads groups of a journal and distributes their records: a key's record goes to the key's range, operations
// on ranges and flushes to all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/durability/key_ranges.hpp"
#include "server/durability/range_operations.hpp"
#include "server/durability/replay.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// Used by one thread. The groups may come in any order, from any segment. Its results refer to the segments'
/// bytes.
class RecordDealer {
 public:
  explicit RecordDealer(const KeyRanges& ranges) : ranges_(&ranges), records_(ranges.size()) {}

  /// False: no writer makes such a group, see error().
  [[nodiscard]] bool deal(const SegmentScan& segment, const ScannedGroup& group);

  /// The records of one key range, in no order.
  [[nodiscard]] std::vector<KeyRecord>& of_range(std::size_t i) noexcept { return records_[i]; }
  [[nodiscard]] RangeOperations& operations() noexcept { return operations_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t greatest_order() const noexcept { return greatest_order_; }
  /// "journal/0000000000000011.mxj: damaged at byte 8392704 (epoch 5123): what".
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  struct Visitor;
  bool add(record_type type, std::uint64_t order, std::string_view key, const char* record);

  const KeyRanges* ranges_;
  std::vector<std::vector<KeyRecord>> records_;
  RangeOperations operations_;
  std::uint64_t count_ = 0;
  std::uint64_t greatest_order_ = 0;
  std::string error_;
};

/// Adds the keys of the first records of each block of a group, with the number of records that they stand
/// for.
void sample_group(const SegmentScan& segment, const ScannedGroup& group,
                  std::vector<KeyRanges::Sample>& samples);

}  // namespace mxkv::server

// The part of a log that is applied in one go: either records of keys, dealt to lanes, or one operation on a
// range. A range operation starts when all earlier stages of its shard are complete, and the shard's later
// stages start when it is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/durability/range_operations.hpp"

namespace mxkv::server {

/// An operation on a range, from a log. Its bounds refer to the stage's bytes, or to routes.
struct ApplyRange {
  RangeOperation what;
  bool drops = false;  ///< removes all items, whatever their order
};

struct ApplyStage {
  std::shared_ptr<const std::string> bytes;       ///< the memory that all fields below refer to
  std::vector<std::vector<const char*>> entries;  ///< pointers to body entries (record_body.hpp), by lane
  std::optional<ApplyRange> range;                ///< if present, `entries` is empty
  std::uint32_t shard = 0;
  std::uint32_t left = 0;  ///< lanes that have not finished their part
  /// Memory lacks an earlier record of the shard, so what is left of the stage is skipped. Release: read
  /// outside of the mutex.
  std::atomic<bool> is_void{false};
  std::uint64_t greatest_order = 0;
  std::uint64_t call = 0;         ///< the number of the call whose last stage this is; 0: more stages follow
  std::size_t counted_bytes = 0;  ///< the size of that call
};

/// In order.
using ApplyStages = std::vector<std::unique_ptr<ApplyStage>>;

}  // namespace mxkv::server

// What of a log is applied in one go: records of keys, dealt to lanes; or one operation on a range, which has
// all that came before it behind it, and all that comes later before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/durability/range_operations.hpp"

namespace mxkv::server {

/// An operation on a range, as a log has it; bounds refer to the stage's bytes, or to routes.
struct ApplyRange {
  RangeOperation what;  ///< of items with an order up to its own
  bool drops = false;   ///< all go, whatever their order
};

struct ApplyStage {
  std::shared_ptr<const std::string> bytes;       ///< that all below refers to
  std::vector<std::vector<const char*>> entries;  ///< of bodies (record_body.hpp), by lane
  std::optional<ApplyRange> range;                ///< then there are no entries
  std::uint32_t shard = 0;
  std::uint32_t left = 0;  ///< lanes that have some of it to do
  std::uint64_t greatest_order = 0;
  std::uint64_t call = 0;         ///< the number of the call that it is the last one of; 0: more follow
  std::size_t counted_bytes = 0;  ///< of that call
};

/// In order.
using ApplyStages = std::vector<std::unique_ptr<ApplyStage>>;

}  // namespace mxkv::server

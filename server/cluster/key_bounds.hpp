// Where ranges are cut at shards.
//
// All functions: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/routes.hpp"
#include "server/store/core/neighbour_keys.hpp"

namespace mxkv::server {

/// The last shard with keys below this one.
[[nodiscard]] inline std::uint32_t shard_below(const Routes& routes, std::string_view key) noexcept {
  const std::uint32_t shard = routes.shard_of(key);
  return shard > 0 && routes.begin_of(shard) == key ? shard - 1 : shard;
}

/// The part of a range that lies in a shard, with explicit bounds, in ascending order. It refers to the bytes
/// of `range`, `routes` and `room`.
[[nodiscard]] inline protocol::RangeRequest part_in_shard(const protocol::RangeRequest& range,
                                                          const Routes& routes, std::uint32_t shard,
                                                          KeyRoom& room) noexcept {
  MXKV_ASSERT(shard < routes.shards(), "a part lies in a shard of the map");
  protocol::RangeRequest part = range;
  if (part.by_prefix) {
    part.by_prefix = false;
    if (part.low.unbounded && !part.prefix.empty()) {
      part.low = {.key = part.prefix, .unbounded = false, .inclusive = true};
    }
    if (const std::string_view end = behind_prefix(part.prefix, room); part.high.unbounded && !end.empty()) {
      part.high = {.key = end, .unbounded = false, .inclusive = false};
    }
    part.prefix = {};
  }
  part.reverse = false;
  const std::string_view begin = routes.begin_of(shard);
  const std::string_view end = routes.end_of(shard);
  if (!begin.empty() && (part.low.unbounded || part.low.key < begin)) {
    part.low = {.key = begin, .unbounded = false, .inclusive = true};
  }
  if (!end.empty() && (part.high.unbounded || part.high.key >= end)) {
    part.high = {.key = end, .unbounded = false, .inclusive = false};
  }
  return part;
}

}  // namespace mxkv::server

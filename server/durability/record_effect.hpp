// What a record does to the item of its key. Recovery (replay.hpp), the followers of a cluster
// (cluster/apply_task.hpp, cluster/apply_range_task.hpp) and backups of a cluster (cluster/shard_copy.hpp) all
// decide by this one function.
//
//                   no item    item with a smaller order      the same order      a greater order
//   put             put        put                            put                 none
//   gone            none       erase                          erase               none
//   range_gone      none       erase                          erase               none
//   flush           none       erase                          erase               none
//   touch           none       expire                         access              none
//   range_touch     none       expire, if the item was live   none                none
//   flush_at        none: it moves the point of a delayed flush (FlushState), and no item
//
// An item keeps the order of the put that made it, so touches do not change it. Therefore a log may be applied
// again from an earlier record, and items that were copied later than a record stay as they are.
//
// An erased item leaves nothing behind. So the caller passes the records of a key in their order: a put with a
// smaller order than an erase would bring the item back.
#pragma once

#include <cstdint>
#include <optional>

#include "server/commit/record.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

/// The part of a record on which its effect depends. Times are by the clock of the item's expiry.
struct RecordedChange {
  record_type type = record_type::put;
  std::uint64_t order = 0;
  std::uint32_t expiry = 0;      ///< touch, range_touch: the new expiry
  std::uint16_t access = 0;      ///< touch: an access age
  std::uint64_t moment_us = 0;   ///< range_touch: the moment at which items must be live
  std::uint64_t flushed_us = 0;  ///< range_touch: a flush had taken items up to this order then
};

/// The item of the key, as a record finds it.
struct RecordedItem {
  std::uint64_t order = 0;
  std::uint32_t expiry = 0;

  friend bool operator==(const RecordedItem&, const RecordedItem&) = default;
};

enum class record_effect : std::uint8_t {
  none,
  put,     ///< the record's item replaces the item, if there is one
  erase,   ///< the item is removed
  expire,  ///< the item gets the record's expiry
  access,  ///< the record has only the item's access age
};

/// Thread-safety: any thread.
[[nodiscard]] constexpr record_effect effect_of(const RecordedChange& change,
                                                const std::optional<RecordedItem>& item) noexcept {
  if (!item) {
    return change.type == record_type::put ? record_effect::put : record_effect::none;
  }
  if (item->order > change.order) {
    return record_effect::none;
  }
  switch (change.type) {
    case record_type::put:
      return record_effect::put;
    case record_type::gone:
    case record_type::range_gone:
    case record_type::flush:
      return record_effect::erase;
    case record_type::touch:
      return item->order == change.order ? record_effect::access : record_effect::expire;
    case record_type::range_touch:
      return item->order == change.order || item->order <= change.flushed_us ||
                     is_expired(item->expiry, change.moment_us)
                 ? record_effect::none
                 : record_effect::expire;
    case record_type::flush_at:
      break;
  }
  return record_effect::none;
}

[[nodiscard]] constexpr RecordedChange change_of(const PutRecord& put) noexcept {
  return {.type = record_type::put, .order = put.order};
}
[[nodiscard]] constexpr RecordedChange change_of(const GoneRecord& gone) noexcept {
  return {.type = record_type::gone, .order = gone.order};
}
[[nodiscard]] constexpr RecordedChange change_of(const TouchRecord& touch) noexcept {
  return {.type = record_type::touch, .order = touch.order, .expiry = touch.expiry, .access = touch.access};
}
[[nodiscard]] constexpr RecordedChange change_of(const RangeGoneRecord& range) noexcept {
  return {.type = record_type::range_gone, .order = range.order};
}
[[nodiscard]] constexpr RecordedChange change_of(const RangeTouchRecord& range) noexcept {
  return {.type = record_type::range_touch,
          .order = range.order,
          .expiry = range.expiry,
          .moment_us = range.moment_us};
}
[[nodiscard]] constexpr RecordedChange change_of(const FlushRecord& flush) noexcept {
  return {.type = record_type::flush, .order = flush.order};
}
[[nodiscard]] constexpr RecordedChange change_of(const FlushAtRecord& flush) noexcept {
  return {.type = record_type::flush_at, .order = flush.order};
}

}  // namespace mxkv::server

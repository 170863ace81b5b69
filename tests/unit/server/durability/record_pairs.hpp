// All pairs of records of one key, on all items that they may find, and the result by a rule of its own: the put
// with the greatest order is the item, a delete with that order or a greater one removes it, and later touches
// in their order decide its expiry.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "server/durability/record_effect.hpp"

namespace mxkv::server::testing {

struct RecordPair {
  std::optional<RecordedItem> base;       ///< the item before both records
  std::array<RecordedChange, 2> changes;  ///< by order; a put has its item's expiry

  friend std::ostream& operator<<(std::ostream& out, const RecordPair& pair) {
    if (pair.base) {
      out << "item " << pair.base->order << " until " << pair.base->expiry;
    }
    for (const RecordedChange& change : pair.changes) {
      out << ", type " << static_cast<int>(change.type) << " order " << change.order << " until "
          << change.expiry;
    }
    return out;
  }
};

/// Items with kEarly are not live at the moment of a range touch. All expiries are in the future of tests' clocks.
inline constexpr std::uint32_t kEarly = 1'900'000'000;
inline constexpr std::uint64_t kMomentUs = 1'950'000'000'000'000;
inline constexpr std::uint32_t kLate = 2'000'000'000;

/// `flushes`: also pairs with a flush.
inline std::vector<RecordPair> record_pairs(bool flushes) {
  std::vector<RecordedChange> kinds;
  for (const std::uint32_t expiry : {0U, kEarly}) {
    kinds.push_back({.type = record_type::put, .expiry = expiry});
    kinds.push_back({.type = record_type::touch, .expiry = expiry});
  }
  kinds.push_back({.type = record_type::gone});
  kinds.push_back({.type = record_type::range_gone});
  kinds.push_back({.type = record_type::range_touch, .expiry = kLate, .moment_us = kMomentUs});
  kinds.push_back({.type = record_type::range_touch, .expiry = 0, .moment_us = kMomentUs});
  if (flushes) {
    kinds.push_back({.type = record_type::flush});
  }
  std::vector<std::optional<RecordedItem>> bases{std::nullopt};
  for (const std::uint64_t order : {10U, 25U, 40U}) {
    for (const std::uint32_t expiry : {0U, kEarly, kLate + 1}) {
      bases.emplace_back(RecordedItem{order, expiry});
    }
  }
  std::vector<RecordPair> pairs;
  for (const std::optional<RecordedItem>& base : bases) {
    for (RecordedChange first : kinds) {
      for (RecordedChange second : kinds) {
        first.order = 20;
        second.order = 30;
        pairs.push_back({.base = base, .changes = {first, second}});
      }
    }
  }
  return pairs;
}

/// The item behind both records; nothing: there is none.
inline std::optional<RecordedItem> expected_of(const RecordPair& pair) {
  std::optional<RecordedItem> item = pair.base;
  for (const RecordedChange& change : pair.changes) {
    if (change.type == record_type::put && (!item || item->order < change.order)) {
      item = RecordedItem{change.order, change.expiry};
    }
  }
  for (const RecordedChange& change : pair.changes) {
    if (!item || change.order < item->order) {
      continue;
    }
    switch (change.type) {
      case record_type::gone:
      case record_type::range_gone:
      case record_type::flush:
        return std::nullopt;
      case record_type::touch:
        item->expiry = change.expiry;
        break;
      case record_type::range_touch:
        item->expiry = item->expiry == kEarly ? kEarly : change.expiry;
        break;
      default:
        break;
    }
  }
  return item;
}

/// Passes the change as a record of the key, or of the range with that key alone.
template <class Take>
void as_record(const RecordedChange& change, std::string_view key, const Take& take) {
  const RecordBounds only{.from = key, .to = key};
  switch (change.type) {
    case record_type::put:
      return take(PutRecord{.order = change.order, .key = key, .value = "v", .expiry = change.expiry});
    case record_type::gone:
      return take(GoneRecord{.order = change.order, .key = key});
    case record_type::touch:
      return take(TouchRecord{.order = change.order, .key = key, .expiry = change.expiry});
    case record_type::range_gone:
      return take(RangeGoneRecord{.order = change.order, .bounds = only});
    case record_type::range_touch:
      return take(RangeTouchRecord{
          .order = change.order, .bounds = only, .moment_us = change.moment_us, .expiry = change.expiry});
    case record_type::flush:
      return take(FlushRecord{change.order});
    case record_type::flush_at:
      return take(FlushAtRecord{.order = change.order});
  }
}

}  // namespace mxkv::server::testing

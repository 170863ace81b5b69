#include "server/durability/replay.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

/// The offset of a put's key, by the bits of the put's header.
std::size_t key_offset_of_put(std::uint8_t bits) noexcept {
  return kRecordHeaderBytes + ((bits & record_bits::kApart) != 0 ? 8U : 4U) +
         ((bits & record_bits::kFlags) != 0 ? 4U : 0U) + ((bits & record_bits::kExpiry) != 0 ? 4U : 0U) +
         ((bits & record_bits::kCas) != 0 ? 8U : 0U);
}

std::uint8_t byte_at(const char* at, std::size_t offset) noexcept {
  return static_cast<std::uint8_t>(at[offset]);
}

std::uint32_t expiry_of_touch(const char* record) noexcept {
  return load_number<std::uint32_t>(record + kRecordHeaderBytes);
}

std::uint16_t access_of_record(const char* record) noexcept {
  return access_of_touch(byte_at(record, 1), byte_at(record, 3));
}

/// The item as a record finds it; null: there is none.
std::optional<RecordedItem> found(const StoredItem* item) noexcept {
  return item == nullptr ? std::nullopt : std::optional{RecordedItem{item->put.order, item->put.expiry}};
}

void touch(PutRecord& item, const RecordedChange& change) noexcept {
  switch (effect_of(change, RecordedItem{item.order, item.expiry})) {
    case record_effect::expire:
      item.expiry = change.expiry;
      break;
    case record_effect::access:
      item.access = std::max(item.access, change.access);
      break;
    default:
      break;
  }
}

/// Sorts by key, and by order for one key.
bool comes_first(const KeyRecord& a, const KeyRecord& b) noexcept {
  if (a.head != b.head) [[likely]] {
    return a.head < b.head;
  }
  const int order = a.key().compare(b.key());
  return order != 0 ? order < 0 : a.order < b.order;
}

}  // namespace

std::string_view KeyRecord::key() const noexcept {
  std::size_t offset = kRecordHeaderBytes;
  if (type() == record_type::put) [[likely]] {
    offset = key_offset_of_put(byte_at(record, 1));
  } else if (type() == record_type::touch) {
    offset += sizeof(std::uint32_t);
  }
  return {record + offset, byte_at(record, 2)};
}

RecordedChange KeyRecord::change() const noexcept {
  RecordedChange change{.type = type(), .order = number()};
  if (change.type == record_type::touch) {
    change.expiry = expiry_of_touch(record);
    change.access = access_of_record(record);
  }
  return change;
}

StoredItem read_put_at(const char* record) noexcept {
  const std::uint8_t bits = byte_at(record, 1);
  StoredItem item;
  PutRecord& put = item.put;
  const auto order = load_number<std::uint64_t>(record + 4);
  put.order = order & kMostOrder;
  put.access = access_of_put(bits, order);
  put.marks = byte_at(record, 3);
  const char* at = record + kRecordHeaderBytes;
  std::uint32_t inside = 0;
  if ((bits & record_bits::kApart) != 0) {
    put.apart_bytes = load_number<std::uint64_t>(at);
    at += sizeof(std::uint64_t);
  } else {
    inside = load_number<std::uint32_t>(at);
    at += sizeof(std::uint32_t);
  }
  if ((bits & record_bits::kFlags) != 0) {
    put.flags = load_number<std::uint32_t>(at);
    at += sizeof(std::uint32_t);
  }
  if ((bits & record_bits::kExpiry) != 0) {
    put.expiry = load_number<std::uint32_t>(at);
    at += sizeof(std::uint32_t);
  }
  if ((bits & record_bits::kCas) != 0) {
    put.cas = load_number<std::uint64_t>(at);
    put.has_cas = true;
    at += sizeof(std::uint64_t);
  }
  put.key = {at, byte_at(record, 2)};
  put.value = {at + put.key.size(), inside};
  item.apart = at + put.key.size();
  return item;
}

bool Replay::merge(std::vector<KeyRecord>& records, std::size_t shared, StoredItems* base, ReplaySink& sink) {
  std::sort(records.begin(), records.end(), comes_first);
  const KeyRecord* at = records.data();
  const KeyRecord* const end = at + records.size();
  const StoredItem* item = base != nullptr ? base->at() : nullptr;
  constexpr std::ptrdiff_t kAhead = 8;
  while (at != end) {
    const std::string_view key = at->key();
    // Settles the checkpoint's items below this key, and finds its item of the key.
    std::strong_ordering place = std::strong_ordering::greater;
    while (item != nullptr) {
      const std::uint64_t head = index::head_of(item->put.key, shared);
      place = head != at->head ? head <=> at->head : item->put.key.compare(key) <=> 0;
      if (place >= 0) {
        break;
      }
      if (!settle(nullptr, nullptr, item, sink)) {
        return false;
      }
      base->next();
      item = base->at();
    }
    const KeyRecord* last = at + 1;
    while (last != end && last->head == at->head && last->key() == key) {
      ++last;
    }
    if (end - last > kAhead) {
      runtime::prefetch_read(last[kAhead].record);
    }
    const bool known = item != nullptr && place == 0;
    if (!settle(at, last, known ? item : nullptr, sink)) {
      return false;
    }
    if (known) {
      base->next();
      item = base->at();
    }
    at = last;
  }
  for (; item != nullptr; item = base->at()) {
    if (!settle(nullptr, nullptr, item, sink)) {
      return false;
    }
    base->next();
  }
  MXKV_ASSERT(base == nullptr || base->at() == nullptr, "each item of the checkpoint was settled");
  return true;
}

std::optional<StoredItem> Replay::item_of(const KeyRecord& record, const StoredItem* base) {
  switch (effect_of(record.change(), found(base))) {
    case record_effect::put: {
      StoredItem item = read_put_at(record.record);
      if (base != nullptr && base->put.order == item.put.order) {
        item.put.access = base->put.access;  // the same item, read since its record
      }
      return item;
    }
    case record_effect::erase:
      return std::nullopt;
    default:
      return base != nullptr ? std::optional{*base} : std::nullopt;
  }
}

bool Replay::settle(const KeyRecord* first, const KeyRecord* last, const StoredItem* base, ReplaySink& sink) {
  MXKV_DCHECK(first != last || base != nullptr, "a key has records, or an item in the checkpoint");
  // The last put or gone makes all records before it void, so they are not read.
  const KeyRecord* touches = last;
  while (touches != first && touches[-1].type() == record_type::touch) {
    --touches;
  }
  std::optional<StoredItem> item;
  if (touches != first) {
    item = item_of(touches[-1], base);
  } else if (base != nullptr) {
    item = *base;
  }
  if (!item) {
    return true;
  }
  ranges_.move_to(item->put.key);
  const RecordedChange flush{.type = record_type::flush, .order = operations_.floor()};
  if (effect_of(flush, found(&*item)) == record_effect::erase ||
      effect_of(ranges_.last_delete(), found(&*item)) == record_effect::erase) {
    return true;
  }
  MXKV_DCHECK(first == last || first->key() == item->put.key, "the records are the item's");
  apply_touches(*item, touches, last);
  if (is_expired(item->put.expiry, now_us_) || item->put.order <= operations_.flushes().at(now_us_)) {
    ++counts_.expired;
    return true;
  }
  ++counts_.items;
  return sink.item(*item);
}

void Replay::apply_touches(StoredItem& item, const KeyRecord* first, const KeyRecord* last) const noexcept {
  const auto& ranges = ranges_.touches();
  auto range = ranges.begin();
  const auto apply_ranges_below = [&](std::uint64_t order) {
    for (; range != ranges.end() && (*range)->change.order < order; ++range) {
      touch(item.put, (*range)->change);
    }
  };
  for (; first != last; ++first) {
    apply_ranges_below(first->number());
    touch(item.put, first->change());
  }
  apply_ranges_below(~std::uint64_t{0});
}

}  // namespace mxkv::server

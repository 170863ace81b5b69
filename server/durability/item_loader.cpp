#include "server/durability/item_loader.hpp"

#include <algorithm>

#include "server/durability/apart_blocks.hpp"

namespace mxkv::server {

namespace {

std::uint64_t value_bytes_of(const StoredItem& stored) noexcept {
  return stored.put.apart_bytes != 0 ? stored.put.apart_bytes : stored.put.value.size();
}

/// Of the wall clock, by the steady time.
std::uint32_t steady_expiry(std::uint32_t expiry, std::int64_t wall_ahead_s) noexcept {
  constexpr std::int64_t kLast = std::numeric_limits<std::uint32_t>::max();
  return expiry == 0 ? 0
                     : static_cast<std::uint32_t>(std::clamp<std::int64_t>(expiry - wall_ahead_s, 1, kLast));
}

/// Null: out of memory.
ChunkList* make_list(runtime::Worker& worker, const StoredItem& stored, std::uint64_t bytes) noexcept {
  ChunkList* list = ChunkList::create(
      worker, static_cast<std::uint32_t>((bytes + Chunk::kMaxBytes - 1) / Chunk::kMaxBytes));
  if (list == nullptr) {
    return nullptr;
  }
  bool fits = true;
  if (stored.put.apart_bytes == 0) {
    fits = ChunkList::append(worker, list, stored.put.value);
  } else {
    ApartBlocks value{stored.apart, bytes};
    for (std::string_view piece; fits && !(piece = value.next()).empty();) {
      fits = ChunkList::append(worker, list, piece);
    }
  }
  if (!fits) {
    ChunkList::drop(worker, list);
    return nullptr;
  }
  return list;
}

}  // namespace

Item* make_item(runtime::Worker& worker, const StoredItem& stored, std::int64_t wall_ahead_s) {
  const PutRecord& put = stored.put;
  const Item::Shape shape{.key = put.key,
                          .value_bytes = value_bytes_of(stored),
                          .flags = put.flags,
                          .expiry = steady_expiry(put.expiry, wall_ahead_s),
                          .marks = put.marks & Item::kAllMarks,
                          .unique_field = put.has_unique,
                          .unique = put.unique};
  Item* const item = Item::create(worker, shape);
  if (item == nullptr) {
    return nullptr;
  }
  if (!shape.large()) [[likely]] {
    put.value.copy(item->value_begin(), put.value.size());
  } else {
    ChunkList* const list = make_list(worker, stored, shape.value_bytes);
    if (list == nullptr) {
      Item::destroy(worker, item);
      return nullptr;
    }
    item->set_list(list);
  }
  item->set_cas(put.order);
  item->set_access_code(put.access);
  return item;
}

bool ItemLoader::refused() noexcept {
  if (limits_.leaves_out) {
    ++left_out_;
    return true;
  }
  out_of_memory_ = true;
  return false;
}

bool ItemLoader::item(const StoredItem& stored) {
  greatest_order_ = std::max(greatest_order_, stored.put.order);
  if (limits_.newest_from_us != 0 &&
      Item::last_access_us_of(stored.put.order, stored.put.access) < limits_.newest_from_us) {
    ++left_out_;
    return true;
  }
  runtime::Worker& worker = run_.worker();
  Item* const item = make_item(worker, stored, wall_ahead_s_);
  if (item == nullptr) {
    return refused();
  }
  index::Due due;
  if (const std::uint32_t expiry = item->expiry(); expiry != 0) {
    due = index::Due::at(expiry, now_s_);
    first_expiry_ = std::min(first_expiry_, expiry);
  }
  if (!run_.append(item->key(), ItemRecord::word(item), due)) {
    Item::destroy(worker, item);
    return refused();
  }
  ++items_;
  bytes_ += item->memory_bytes();
  return true;
}

ItemFacts facts_of(const StoredItem& stored) noexcept {
  constexpr std::uint64_t kPerItem =
      40;  // header, optional fields, its part of a leaf, what size classes add
  return {Item::last_access_us_of(stored.put.order, stored.put.access),
          kPerItem + stored.put.key.size() + value_bytes_of(stored)};
}

}  // namespace mxkv::server

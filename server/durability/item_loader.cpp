#include "server/durability/item_loader.hpp"

#include <algorithm>
#include <utility>

#include "server/commit/access_code.hpp"
#include "server/durability/apart_blocks.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/upkeep/eviction_scores.hpp"

namespace mxkv::server {

namespace {

std::uint64_t value_bytes_of(const StoredItem& stored) noexcept {
  return stored.put.apart_bytes != 0 ? stored.put.apart_bytes : stored.put.value.size();
}

/// A value apart in one piece.
class OnePiece {
 public:
  explicit OnePiece(std::string_view value) noexcept : value_(value) {}
  [[nodiscard]] std::string_view next() noexcept { return std::exchange(value_, {}); }

 private:
  std::string_view value_;
};

/// `apart`: its next() returns the pieces of a value apart, and then an empty piece. Null: out of memory.
template <class Pieces>
ChunkList* make_list(runtime::Worker& worker, const PutRecord& put, Pieces& apart,
                     std::uint64_t bytes) noexcept {
  ChunkList* list = ChunkList::create(
      worker, static_cast<std::uint32_t>((bytes + Chunk::kMaxBytes - 1) / Chunk::kMaxBytes));
  if (list == nullptr) {
    return nullptr;
  }
  bool fits = true;
  if (put.apart_bytes == 0) {
    fits = ChunkList::append(worker, list, put.value);
  } else {
    for (std::string_view piece; fits && !(piece = apart.next()).empty();) {
      fits = ChunkList::append(worker, list, piece);
    }
  }
  if (!fits) {
    ChunkList::drop(worker, list);
    return nullptr;
  }
  MXKV_ASSERT(list->bytes() == bytes, "a value is loaded whole");
  return list;
}

template <class Pieces>
Item* make_item_of(runtime::Worker& worker, const PutRecord& put, Pieces apart, std::int64_t wall_ahead_s) {
  const Item::Shape shape{.key = put.key,
                          .value_bytes = put.apart_bytes != 0 ? put.apart_bytes : put.value.size(),
                          .flags = put.flags,
                          .expiry = steady_expiry(put.expiry, wall_ahead_s),
                          .marks = put.marks & Item::kAllMarks,
                          .cas_field = put.has_cas,
                          .cas = put.cas};
  Item* const item = Item::create(worker, shape);
  if (item == nullptr) {
    return nullptr;
  }
  if (!shape.large()) [[likely]] {
    char* to = item->value_begin();
    if (put.apart_bytes == 0) [[likely]] {
      put.value.copy(to, put.value.size());
    } else {
      for (std::string_view piece; !(piece = apart.next()).empty();) {
        to += piece.copy(to, piece.size());
      }
      MXKV_ASSERT(to == item->value_begin() + shape.value_bytes, "a value is loaded whole");
    }
  } else {
    ChunkList* const list = make_list(worker, put, apart, shape.value_bytes);
    if (list == nullptr) {
      Item::destroy(worker, item);
      return nullptr;
    }
    item->set_list(list);
  }
  item->set_order(put.order);
  item->set_access_code(put.access);
  return item;
}

}  // namespace

Item* make_item(runtime::Worker& worker, const StoredItem& stored, std::int64_t wall_ahead_s) {
  return make_item_of(worker, stored.put, ApartBlocks{stored.apart, stored.put.apart_bytes}, wall_ahead_s);
}

Item* make_item(runtime::Worker& worker, const PutRecord& put, std::string_view apart,
                std::int64_t wall_ahead_s) {
  MXKV_DCHECK(apart.size() == put.apart_bytes, "a value apart is whole");
  return make_item_of(worker, put, OnePiece{apart}, wall_ahead_s);
}

bool ItemLoader::refused(const StoredItem& stored) {
  if (trial_ != nullptr) {
    trial_->is_short->store(true, std::memory_order_relaxed);
    return true;
  }
  if (limits_.left_out != nullptr) {
    limits_.left_out->add(stored.put.key);
    return true;
  }
  out_of_memory_ = true;
  return false;
}

bool ItemLoader::item(const StoredItem& stored) {
  greatest_order_ = std::max(greatest_order_, stored.put.order);
  if (trial_ != nullptr) {
    trial_->sample.note(facts_of(stored));
    if (trial_->is_short->load(std::memory_order_relaxed)) {
      return true;
    }
  }
  if (is_worse_than_line(stored)) {
    return refused(stored);
  }
  runtime::Worker& worker = run_.worker();
  Item* const item = make_item(worker, stored, 0);
  if (item == nullptr) {
    return refused(stored);
  }
  index::Due due;
  if (const std::uint32_t expiry = item->expiry(); expiry != 0) {
    due = index::Due::at(expiry, now_s_);
    first_expiry_ = std::min(first_expiry_, expiry);
  }
  if (!run_.append(item->key(), ItemRecord::word(item), due)) {
    Item::destroy(worker, item);
    return refused(stored);
  }
  if (trial_ != nullptr) {
    trial_->sample.fitted(facts_of(stored));
  }
  // At once, because the items of a trial that ends for lack of memory are counted when they are freed.
  count_added(worker.local<WorkerContext>(), *item);
  ++items_;
  bytes_ += item->memory_bytes();
  return true;
}

/// Of the items at the line it wants the line's part, evenly spread over the keys.
bool ItemLoader::is_worse_than_line(const StoredItem& stored) noexcept {
  const double score = facts_of(stored).score;
  if (score != limits_.line.score) [[likely]] {
    return score > limits_.line.score;
  }
  owed_ += limits_.line.part_at_it;
  if (owed_ < 1) {
    return true;
  }
  owed_ -= 1;
  return false;
}

ItemFacts ItemLoader::facts_of(const StoredItem& stored) const noexcept {
  const std::uint64_t bytes = bytes_of(stored);
  const std::uint64_t accessed_us = Item::last_access_us_of(stored.put.order, stored.put.access);
  const std::uint64_t idle_us = limits_.now_us > accessed_us ? limits_.now_us - accessed_us : 0;
  const auto seen =
      EvictionScores::seen(idle_us, access_code::reads(stored.put.access), limits_.weighs_size ? bytes : 0);
  return {seen.score(), bytes};
}

std::uint64_t bytes_of(const StoredItem& stored) noexcept {
  constexpr std::uint64_t kPerItem = 40;  // header, optional fields, its part of a leaf, loss to size classes
  return kPerItem + stored.put.key.size() + value_bytes_of(stored);
}

}  // namespace mxkv::server

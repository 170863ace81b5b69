#include "tests/simulation/shards_memory.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::simulation {

using server::GoneRecord;
using server::PutRecord;

// The records of several workers come one behind the other, so a key's may be in any order.
BodyOrders apply_body(ShardsItems& items, std::string_view body) {
  struct Change {
    std::uint64_t order;
    std::string_view key;
    const PutRecord* put;
  };
  std::vector<server::BodyEntry> entries;
  server::RecordBodyReader reader{body};
  while (const auto entry = reader.next()) {
    entries.push_back(*entry);
  }
  MXKV_ASSERT(reader.at_end(), "a log holds bodies");
  std::vector<Change> changes;
  for (const server::BodyEntry& entry : entries) {
    if (const auto* put = std::get_if<PutRecord>(&entry.record)) {
      changes.push_back({put->order, put->key, put});
    } else {
      const auto& gone = std::get<GoneRecord>(entry.record);
      changes.push_back({gone.order, gone.key, nullptr});
    }
  }
  std::ranges::sort(changes, {}, &Change::order);
  BodyOrders orders;
  for (const Change& change : changes) {
    orders.all = change.order;
    orders.gone = change.put == nullptr ? change.order : orders.gone;
    const auto at = items.find(change.key);
    if (at != items.end() && at->second.order > change.order) {
      continue;
    }
    if (change.put != nullptr) {
      items.insert_or_assign(std::string{change.key},
                             ShardsItem{std::string{change.put->value}, change.order});
    } else if (at != items.end()) {
      items.erase(at);
    }
  }
  return orders;
}

void ShardsMemory::apply(std::uint32_t shard, std::string_view records) {
  add([this, shard, body = std::string{records}](std::uint64_t call) {
    if (failed(shard) || call < dropped_[shard]) {
      return;
    }
    if (short_) {
      failed_.insert(shard);
      return;
    }
    const BodyOrders orders = apply_body(items_, body);
    newest_ = std::max(newest_, orders.all);
    floors_[shard] = std::max(floors_[shard], orders.gone);
  });
}

void ShardsMemory::drop(std::uint32_t shard, std::string_view from, std::string_view to) {
  failed_.erase(shard);
  dropped_[shard] = begun_ + 1;
  add([this, first = std::string{from}, end = std::string{to}](std::uint64_t /*call*/) {
    items_.erase(items_.lower_bound(first), end.empty() ? items_.end() : items_.lower_bound(end));
  });
}

void ShardsMemory::add(std::function<void(std::uint64_t call)> action) {
  soon_([this, action = std::move(action), call = ++begun_] {
    action(call);
    ++finished_;
    moved_();
  });
}

std::uint64_t ShardsMemory::mint(std::uint64_t mint_us) noexcept {
  return newest_ = std::max(newest_, mint_us) + 1;
}

void ShardsMemory::remove(std::uint32_t shard, std::string_view key, std::uint64_t order) {
  items_.erase(items_.find(key));
  floors_[shard] = std::max(floors_[shard], order);
}

std::uint64_t ShardsMemory::order_of_read(std::uint32_t shard, std::string_view key) const {
  const auto item = items_.find(key);
  const auto floor = floors_.find(shard);
  return std::max(item == items_.end() ? 0 : item->second.order, floor == floors_.end() ? 0 : floor->second);
}

ShardsSource::state ShardsSource::next(std::string& piece, std::uint64_t& items) {
  if (dice_.permille(300)) {
    return state::busy;
  }
  const auto at = memory_.items().lower_bound(next_);
  if (at == memory_.items().end() || (!to_.empty() && at->first >= to_)) {
    return state::end;
  }
  server::RecordBody::add_record(
      piece, PutRecord{.order = at->second.order, .key = at->first, .value = at->second.value});
  ++items;
  next_ = at->first + '\0';
  return state::piece;
}

}  // namespace mxkv::simulation

// What the store does of its own to an item that a reader or a walk has met: removes it, or moves it to
// another block. Nobody is answered, no order is kept, and where another item is by then nothing is done.
//
// `seen` is the leaf's word of the item, which must be safe to read. Thread-safety: on a worker.
#pragma once

#include <cstdint>

#include "server/store/item/item.hpp"
#include "server/store/store_state.hpp"

namespace mxkv::server {

/// Starts to remove an item, unless it is live by then.
void start_expiry(runtime::Worker& worker, std::uint64_t seen);

/// Starts to remove an item, live or not.
void start_eviction(runtime::Worker& worker, std::uint64_t seen);

/// Starts to put a copy of an item in its place, in another block; out of memory it stays.
void start_move(runtime::Worker& worker, std::uint64_t seen);

/// How many of these were started and have not ended. A walk that meets many items must not run far ahead of
/// them, for each takes memory. Any thread.
[[nodiscard]] std::uint64_t seen_in_flight(const StoreState& store) noexcept;
inline constexpr std::uint64_t kMostSeenInFlight = 1024;

/// An item has left the tree: counts that, and frees it when nobody can read it any more.
inline void retire_item(runtime::Worker& worker, Item* item) {
  auto& context = worker.local<WorkerContext>();
  const std::size_t bytes = item->memory_bytes();
  context.counters.count(counter::items_removed);
  context.counters.count(counter::bytes_removed, bytes);
  worker.retire(item, context.store->item_kind(), bytes);
}

}  // namespace mxkv::server

// The store's own writes to an item that a reader or a walk has met: removes it, or moves it to another
// block. They send no reply and keep no order, and do nothing if the leaf has another item by then.
//
// `seen` is the leaf's word of the item, which must be safe to read. Thread-safety: on a worker.
#pragma once

#include <cstdint>

#include "server/store/core/item_counts.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/item/item.hpp"
#include "server/store/upkeep/ghosts.hpp"

namespace mxkv::server {

/// Starts to remove an item. It stays if it is live when the write executes.
void start_expiry(runtime::Worker& worker, std::uint64_t seen);

/// Starts to replace an item by a copy in another block. If memory is short, the item stays.
void start_move(runtime::Worker& worker, std::uint64_t seen);

/// How many of these writes have started and not ended. Each takes memory, so a walk that meets many items
/// must not run far ahead of its writes. Any thread.
[[nodiscard]] std::uint64_t seen_in_flight(const StoreState& store) noexcept;
inline constexpr std::uint64_t kMostSeenInFlight = 1024;

/// Call this when an item has left the tree: counts the removal, and frees the item when no task can read it
/// any more.
inline void retire_item(runtime::Worker& worker, Item* item) {
  auto& context = worker.local<WorkerContext>();
  const std::size_t bytes = item->memory_bytes();
  count_removed(context, *item, bytes);
  worker.retire(item, context.store->item_kind(), bytes);
}

/// retire_item(), of an item that the store removed by itself: an expired one, or (`live`) one that makes room.
void retire_removed(runtime::Worker& worker, Item* item, bool live);

/// If the item's key was evicted lately, it counts as read twice. For welcome_item().
void look_for_ghost(WorkerContext& context, Item& item) noexcept;

/// Call this when a client's item has come into the tree where its key had none. The caller is pinned.
inline void welcome_item(WorkerContext& context, Item& item) noexcept {
  if (context.ghosts->any()) [[unlikely]] {
    look_for_ghost(context, item);
  }
}

}  // namespace mxkv::server

// Counts items that come into the tree and leave it, for the store and for their quotas.
#pragma once

#include <cstddef>

#include "server/store/core/quotas.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Call this when an item has come into the tree. If it took the place of another, that one counts as removed.
inline void count_added(WorkerContext& context, const Item& item) noexcept {
  context.counters.count(counter::items_added);
  context.counters.count(counter::bytes_added, item.memory_bytes());
  if (context.quotas != nullptr) [[unlikely]] {
    context.quotas->put(item, nullptr);
  }
}

/// Call this when an item has left the tree. `bytes`: its memory.
inline void count_removed(WorkerContext& context, const Item& item, std::size_t bytes) noexcept {
  context.counters.count(counter::items_removed);
  context.counters.count(counter::bytes_removed, bytes);
  if (context.quotas != nullptr) [[unlikely]] {
    context.quotas->removed(item);
  }
}

/// Call this when an event of a key is counted: its quota counts it, too.
inline void count_of_quota(WorkerContext& context, std::string_view key, quota_count which) noexcept {
  if (context.quotas != nullptr) [[unlikely]] {
    context.quotas->count(key, which);
  }
}

}  // namespace mxkv::server

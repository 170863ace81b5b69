// The store's counters: relaxed atomics of one worker each. `stats` sums them over the workers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mxkv::server {

/// Counters of the store, named after memcached's statistics where it has them.
enum class counter : std::uint8_t {
  cmd_set,
  cmd_touch,
  cmd_flush,
  cmd_scan,
  get_hits,  ///< with get_misses: all gets
  get_misses,
  get_expired,
  get_flushed,
  delete_hits,
  delete_misses,
  incr_hits,
  incr_misses,
  decr_hits,
  decr_misses,
  cas_hits,
  cas_misses,
  cas_badval,
  touch_hits,
  touch_misses,
  scan_items,
  cmd_range_count,
  cmd_range_delete,
  range_deleted_items,
  cmd_range_touch,
  range_touched_items,
  cmd_batch,
  batch_failures,
  slot_maps,  ///< maps of keys to slots that were drawn, see repartition_task.hpp
  store_no_memory,
  store_too_large,
  cmd_meta,
  total_items,
  items_added,  ///< minus items_removed: items in the tree; both may leave out an item that replaces another
  items_removed,
  evictions,          ///< items that made room
  evicted_unfetched,  ///< of these, items that no client had read
  ghost_returns,      ///< items that came back soon after their eviction, see ghosts.hpp
  reclaimed,          ///< expired items that other tasks met and removed
  swept_items,        ///< expired items that a sweep removed, see expiry_sweep.hpp
  expired_unfetched,  ///< of both, items that no client had read
  idle_walks,         ///< walks that look for idle items, see eviction.hpp
  span_walks,         ///< walks that look for whole spans
  items_moved,        ///< out of sparse spans, see defragmenter.hpp
  seen_started,       ///< minus seen_ended: background writes under way, see background_writes.hpp
  seen_ended,
  bytes_added,  ///< minus bytes_removed: memory of items in the tree; modulo 2^64
  bytes_removed,
  held_away,  ///< operations that began on another worker than their connection's, see range_locks.hpp
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(counter::held_away) + 1;

/// Thread-safety: count() owner worker only; value() any thread.
class StoreCounters {
 public:
  void count(counter which, std::uint64_t n = 1) noexcept {
    auto& value = values_[static_cast<std::size_t>(which)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value(counter which) const noexcept {
    return values_[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounters> values_{};
};

}  // namespace mxkv::server

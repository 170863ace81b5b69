// What store tasks find on the worker they run on: Worker::local<WorkerContext>().
//
// Counters are relaxed atomics with one writer; `stats` sums them over the workers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "server/store/evacuation.hpp"

namespace mxkv::server {

class ReplyDirectory;
class Store;

/// Counters of the store, named after memcached's statistics where it has them.
enum class counter : std::uint8_t {
  cmd_get,
  cmd_set,
  cmd_touch,
  cmd_flush,
  cmd_scan,
  get_hits,
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
  store_no_memory,
  total_items,
  items_added,  ///< with items_removed: how many there are
  items_removed,
  items_moved,  ///< out of sparse spans, see evacuation.hpp
  bytes_added,  ///< with bytes_removed: memory of items in the tree
  bytes_removed,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(counter::bytes_removed) + 1;

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

/// One a worker. Owner worker only, but for reading the counters.
struct WorkerContext {
  Store* store = nullptr;
  ReplyDirectory* replies = nullptr;
  StoreCounters counters;
  std::atomic<std::uint64_t> greatest_cas{0};  ///< minted here so far; one writer
  Evacuation evacuation;
};

}  // namespace mxkv::server

// The state that store tasks use on the worker where they run: Worker::local<WorkerContext>().
//
// Counters are relaxed atomics with one writer; `stats` sums them over the workers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "index/commit_point.hpp"
#include "server/store/core/place_counters.hpp"
#include "server/store/happenings.hpp"
#include "server/store/point/read_offers.hpp"

namespace mxkv::server {

struct RangeLocks;
class ConnectionTable;
class ExpirySweep;
class OwnerReads;
class StoreState;
class Upkeep;
class WatchHub;

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
  held_away,      ///< operations that began on another worker than their connection's, see range_locks.hpp
  offered_reads,  ///< reads of a pipeline that other workers could take
  taken_reads,    ///< reads of other workers that this worker took
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(counter::taken_reads) + 1;

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

/// Once the clock has reached a point (us), items with a cas unique up to it do not count as there. Relaxed:
/// each point stands for itself. Thread-safety: any thread, but only one at a time calls set().
struct FlushPoints {
  std::atomic<std::uint64_t> next{0};    ///< the point that was set last
  std::atomic<std::uint64_t> before{0};  ///< the point in force until `next` is reached
  std::atomic<std::uint64_t> order{0};   ///< of the operation that set `next`, or more

  /// The point in force.
  [[nodiscard]] std::uint64_t at(std::uint64_t now_us) const noexcept {
    const std::uint64_t point = next.load(std::memory_order_relaxed);
    return point > now_us ? before.load(std::memory_order_relaxed) : point;
  }
  void set(std::uint64_t point, std::uint64_t now_us, std::uint64_t set_by = 0) noexcept {
    order.store(set_by, std::memory_order_relaxed);
    before.store(at(now_us), std::memory_order_relaxed);
    next.store(point, std::memory_order_relaxed);
  }
};

/// One a worker. Owner worker only, but for reading the counters.
struct WorkerContext {
  static constexpr std::uint64_t kNoHorizon = ~std::uint64_t{0};

  StoreState* store = nullptr;
  RangeLocks* locks = nullptr;                                    ///< the store's
  const FlushPoints* flush_points = nullptr;                      ///< the store's
  const index::CommitPoint<std::string_view>* commits = nullptr;  ///< of the store's tree
  ConnectionTable* replies = nullptr;
  WatchHub* watch = nullptr;         ///< the store's
  Happenings* happenings = nullptr;  ///< the store's; null: events are not reported
  Upkeep* upkeep = nullptr;          ///< the store's
  ExpirySweep* sweep = nullptr;
  OwnerReads* owner_reads = nullptr;  ///< null: no item here is a copy
  StoreCounters counters;
  std::atomic<std::uint64_t> greatest_order{0};  ///< minted here so far; one writer
  /// Orders are minted above this, and above the round's time. Set once a round by a caller that never lowers
  /// it; 0: no bound.
  std::uint64_t mint_us = 0;
  /// Changes up to this order are on disk; kNoHorizon: reads need not wait. Set once a round, as are the next
  /// two.
  std::uint64_t horizon_us = kNoHorizon;
  const char* refusal = nullptr;  ///< why changes are refused now; null: they are not
  ReadOffers offers;
  bool applies = false;      ///< changes that pass the commit point now were read from the log of other nodes
  bool writes_wait = false;  ///< replies to commands that may have written may have to wait for the disk

  void note(happening what) noexcept {
    if (happenings != nullptr) {
      happenings->note(what);
    }
  }
  void count_no_memory() noexcept {
    counters.count(counter::store_no_memory);
    note(happening::no_memory);
  }
  [[nodiscard]] bool minds_horizon() const noexcept { return horizon_us != kNoHorizon; }
  /// The earliest expiry (steady s) stored here that no sweep has seen yet. Relaxed, see expiry_sweep.cpp.
  std::atomic<std::uint32_t> first_expiry{std::numeric_limits<std::uint32_t>::max()};
  std::unique_ptr<PlaceCounters> places;  ///< null: there is only one NUMA node
};

}  // namespace mxkv::server

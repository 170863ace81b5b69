// Defragmenter: moves items out of spans with few items left, so that those spans can be given back [LAS 5].
// Without it, a span with a single item is lost to all other sizes.
//
// Ten times a second a worker looks at its own heap. If too much of it is spare, the worker walks the leaves
// once. For each item in a sparse span of its own it starts a task that builds a copy, swaps the leaf's
// pointer under the latch and retires the old item: a write that changes no data. The heap fills the fullest
// spans first, so copies do not make new sparse spans. After a walk the worker pauses for at least ten times
// the walk's duration, and for longer after each walk that did not help.
//
// While a request waits for memory and nothing may be evicted, there are no such pauses (hurry()). The effect of a
// walk is known when a reclaim pass has freed the old items. A walk that gave back too little is not repeated before
// there is more spare memory, so requests never wait for walks in vain.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/store/upkeep/reclaim_passes.hpp"

namespace mxkv::server {

class StoreState;

/// One per worker. Thread-safety: owner worker only, except where stated.
class Defragmenter {
 public:
  explicit Defragmenter(ReclaimPasses& passes) noexcept : passes_(passes) {}

  /// Call it often; it looks at the heap every 100 ms, or at once after hurry().
  void tick(StoreState& store, runtime::Worker& worker) {
    if (now_ns(worker) >= next_look_ns_ || hurries_.load(std::memory_order_relaxed)) [[unlikely]] {
      look(store, worker);
    }
  }
  /// A request waits for memory. Any thread.
  void hurry() noexcept { hurries_.store(true, std::memory_order_relaxed); }
  /// Whether a walk may give memory of this worker's heap back, or has just done so. Any thread.
  [[nodiscard]] bool may_help(const runtime::ValueHeap& heap) const noexcept;

  /// The walk has ended.
  void ended(runtime::Worker& worker);

 private:
  static std::uint64_t now_ns(const runtime::Worker& worker) noexcept;
  void look(StoreState& store, runtime::Worker& worker);
  void begin(StoreState& store, runtime::Worker& worker);
  [[nodiscard]] bool pays(const runtime::ValueHeapStats& heap) const noexcept;
  [[nodiscard]] bool knows_effect(const StoreState& store, const runtime::Worker& worker) noexcept;
  void judge(const runtime::ValueHeapStats& heap) noexcept;

  ReclaimPasses& passes_;
  // Relaxed, all of them: hints.
  std::atomic<bool> hurries_{false};
  std::atomic<bool> unjudged_{false};    ///< a walk is under way, or its effect is not known yet
  std::atomic<std::size_t> in_vain_{0};  ///< spare bytes after a walk that did not help; 0: it did
  std::optional<std::uint32_t> pass_;    ///< frees the items that the last walk moved
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t pause_ns_ = 0;
  std::uint64_t spare_before_ = 0;
};

}  // namespace mxkv::server

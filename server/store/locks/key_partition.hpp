// The slot of each key: separators divide the key space for Toggle and its gate.
//
// The map is redrawn from time to time (repartition_task.hpp). Readers take the current map. A replaced map
// stays in memory until all workers that may look at it have left their epoch.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/hierarchy/slots.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

/// Thread-safety: any worker.
class KeyPartition {
 public:
  using Map = runtime::SlotMap<std::string>;

  /// Start-up only. One slot holds all keys until replace().
  KeyPartition(runtime::Runtime& runtime, std::uint32_t most, const runtime::SlotParts& parts)
      : map_(new Map({})),
        kind_(runtime.add_reclaim_kind(
            [](runtime::Worker& /*worker*/, void* map) { delete static_cast<Map*>(map); })),
        most_(most),
        parts_(parts) {}
  ~KeyPartition() { delete map_.load(std::memory_order_relaxed); }
  KeyPartition(const KeyPartition&) = delete;
  KeyPartition& operator=(const KeyPartition&) = delete;

  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }
  /// The parts that the bits of an operation's mask stand for.
  [[nodiscard]] const runtime::SlotParts& parts() const noexcept { return parts_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return map().slots(); }
  /// The least key of a slot other than the first. Valid until the caller's task ends.
  [[nodiscard]] std::string_view begin_of(std::uint32_t slot) const noexcept { return map().begin_of(slot); }
  /// About how many items a slot had when the map was drawn.
  [[nodiscard]] std::uint64_t items_a_slot() const noexcept {
    return items_a_slot_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t slot_of(std::string_view key) const noexcept { return map().slot_of(key); }
  /// The slots from `low` to `high`, which should not be less.
  [[nodiscard]] runtime::SlotInterval slots_of(std::string_view low, std::string_view high) const noexcept {
    const Map& now = map();
    const std::uint32_t first = now.slot_of(low);
    return {first, std::max(first, now.slot_of(high))};
  }
  [[nodiscard]] runtime::SlotInterval from(std::string_view low) const noexcept {
    const Map& now = map();
    return {now.slot_of(low), now.slots() - 1};
  }
  [[nodiscard]] runtime::SlotInterval all() const noexcept { return {0, most_ - 1}; }

  /// Replaces the map by one of at most `most` slots. All slots are held and closed.
  void replace(std::unique_ptr<Map> map, std::uint64_t items, runtime::Worker& worker) {
    items_a_slot_.store(items / map->slots(), std::memory_order_relaxed);
    MXKV_ASSERT(map->slots() <= most_, "there are buckets for all slots");
    Map* const old = map_.exchange(map.release(), std::memory_order_acq_rel);  // pairs with map()
    worker.retire(old, kind_, sizeof(Map));
  }

 private:
  [[nodiscard]] const Map& map() const noexcept { return *map_.load(std::memory_order_acquire); }

  std::atomic<Map*> map_;
  std::atomic<std::uint64_t> items_a_slot_{0};  // relaxed: a hint
  runtime::ReclaimKind kind_;
  std::uint32_t most_;
  runtime::SlotParts parts_;
};

}  // namespace mxkv::server

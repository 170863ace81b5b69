// Walks over leaves, from a hand on, and starts to remove or move the items that its guide names.
//
// Guide, a WalkHand, gives
//   static constexpr const char* kWalk                     the task's name
//   static constexpr unsigned kItemLines                   lines of an item that judge() reads, as a rule
//   walk_verdict judge(const Item&, Worker&)               jumps: it has set its hand to a greater key
//   bool started(std::size_t bytes)                        the walk started to remove an item; false: that is enough
//   void ended(std::string_view key, Worker&)              at this key, or behind the last one (empty)
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/later_task.hpp"
#include "server/store/upkeep/leaf_evictions.hpp"
#include "server/store/upkeep/walk_hand.hpp"

namespace mxkv::server {

template <class Guide>
class EvictionWalk final : public index::ScanTask<EvictionWalk<Guide>, ItemTraits> {
  using Base = index::ScanTask<EvictionWalk<Guide>, ItemTraits>;

 public:
  static constexpr const char* kName = Guide::kWalk;
  static constexpr unsigned kRecordLines = Guide::kItemLines;

  EvictionWalk(const runtime::TaskClass* task_class, ItemTree& tree, Guide& guide) noexcept
      : Base(task_class, tree), guide_(guide) {
    set_key(guide.hand());
  }

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] bool backward() const noexcept { return false; }
  /// At the end of a leaf it starts to remove all that go of it.
  class Leaf {
   public:
    Leaf(EvictionWalk& walk, runtime::Worker& worker) noexcept : walk_(walk), worker_(worker) {}
    ~Leaf() {
      if (!removals_.empty()) {
        removals_.start(walk_.here(), &walk_, worker_);
      }
    }
    Leaf(const Leaf&) = delete;
    Leaf& operator=(const Leaf&) = delete;
    bool visit(std::uint64_t /*head*/, std::uint64_t value) { return walk_.visit(value, removals_, worker_); }

   private:
    EvictionWalk& walk_;
    runtime::Worker& worker_;
    LeafEvictions removals_;
  };
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& worker) noexcept { return Leaf{*this, worker}; }

  bool visit(std::uint64_t value, LeafEvictions& removals, runtime::Worker& worker) {
    const Item& item = *ItemRecord::item(value);
    if (pace_.is_too_fast(worker)) [[unlikely]] {
      return stops(stop::pauses, item.key());
    }
    switch (guide_.judge(item, worker)) {
      case walk_verdict::stays:
        return true;
      case walk_verdict::goes:
        pace_.started();
        removals.add(value);
        return guide_.started(item.memory_bytes()) || stops(stop::enough, item.key());
      case walk_verdict::moves:
        pace_.started();
        start_move(worker, value);
        return true;
      case walk_verdict::jumps:
        return stops(stop::jumps, guide_.hand());
      case walk_verdict::enough:
        return stops(stop::enough, item.key());
      case walk_verdict::behind:
        return stops(stop::at_end, {});
    }
    MXKV_ASSERT(false, "a guide knows what an item's walk does");
  }
  runtime::step finished(bool exhausted, runtime::Worker& worker) {
    switch (exhausted ? stop::at_end : std::exchange(stop_, stop::at_end)) {
      case stop::jumps:
        return this->rescan(worker);
      case stop::pauses: {
        guide_.pauses(key());
        auto* const rest = worker.create<EvictionWalk>(this->tree(), guide_);
        worker.spawn(worker.create<LaterTask<EvictionWalk>>(*rest));
        return runtime::step::done;
      }
      case stop::enough:
        guide_.ended(key(), worker);
        return runtime::step::done;
      case stop::at_end:
        guide_.ended({}, worker);
        return runtime::step::done;
    }
    MXKV_ASSERT(false, "a walk stops for a reason");
  }

 private:
  enum class stop : std::uint8_t { enough, pauses, jumps, at_end };

  bool stops(stop why, std::string_view key) noexcept {
    stop_ = why;
    set_key(key);
    return false;
  }

  Guide& guide_;
  WalkPace pace_;
  stop stop_ = stop::at_end;
  HeldKey key_;
};

}  // namespace mxkv::server

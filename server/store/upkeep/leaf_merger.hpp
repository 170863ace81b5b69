// Merges leaves that removals thinned, so that a full cache keeps its leaves filled, and a store that shrinks gives
// their memory back.
//
// When items of an eighth of the store have been removed since the last pass, a pass walks over the nodes above the
// leaves and starts a merge wherever neighbours fit into fewer leaves (index/merge_task.hpp). It does not ask why the
// items went. A pass works for a slice of time, or starts so many merges, and then pauses. It has lower priority than
// all other work of its worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/scheduler/worker.hpp"

namespace mxkv::server {

class StoreState;

/// One per store, at work on one worker at a time. Thread-safety: any worker.
class LeafMerger {
 public:
  static constexpr std::uint64_t kLookEveryNs = 10'000'000;
  static constexpr std::uint64_t kSliceNs = 1'000'000;
  /// Fewest removals between two passes.
  static constexpr std::uint32_t kLeastRemoved = 64;

  LeafMerger(StoreState& store, std::uint32_t least_removed) noexcept
      : store_(store), least_removed_(least_removed) {}

  /// Call it often.
  void tick(runtime::Worker& worker) {
    if (worker.now_ns() >= next_ns_.load(std::memory_order_relaxed)) [[unlikely]] {
      look(worker);
    }
  }

  // For the walk.

  void started(unsigned merges) noexcept { merges_ += merges; }
  [[nodiscard]] bool slice_over(std::uint64_t now_ns) const noexcept {
    return now_ns >= slice_end_ns_ || merges_ >= kMostMerges;
  }
  /// The slice has ended: at this key, or (`exhausted`) with the whole pass.
  void ended(std::string_view key, bool exhausted, std::uint64_t now_ns) noexcept;

 private:
  static constexpr unsigned kPart = 8;          ///< of the items, removed between two passes
  static constexpr unsigned kMostMerges = 256;  ///< in a slice: their tasks take memory

  void look(runtime::Worker& worker);
  [[nodiscard]] bool is_worth_it() noexcept;

  StoreState& store_;
  const std::uint32_t least_removed_;
  std::atomic<std::uint64_t> next_ns_{0};  // relaxed: a hint
  std::atomic<bool> running_{false};       // acquire and release: hands over the members below

  std::string hand_;           ///< where the next slice begins; empty: no pass is under way
  std::uint64_t removed_ = 0;  ///< items ever removed, when the last pass began
  std::uint64_t slice_end_ns_ = 0;
  unsigned merges_ = 0;  ///< started in this slice
};

}  // namespace mxkv::server

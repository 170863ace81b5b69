// The state of one bucket; for the sources of this folder alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/hierarchy/buckets/buckets.hpp"
#include "runtime/memory/short_latch.hpp"

namespace mxkv::runtime {

/// `host` and `parts` never change. All that is not atomic belongs to the holder of the latch, but the lists of taken
/// slots. With hosts that is the host alone. Latches of several buckets are taken upwards.
struct alignas(kCacheLineBytes) ToggleBuckets::Bucket {
  /// How the bucket is held.
  ///
  ///   free ── hold_alone ──> alone ──── release ──> free
  ///   free ── open_inner ──> inner ──── release ──> free
  ///   free ── share ───────> shared ─── release of the last group ──> free
  enum class hold : std::uint8_t {
    free,    ///< the next operation may begin
    alone,   ///< an exclusive operation, or a group with one
    shared,  ///< groups of shared operations
    inner,   ///< the operations of its slots: inner mode
  };
  static constexpr std::uint64_t kClosed = 0;  ///< no slots are open

  detail::ShortLatch latch;
  WorkerId host{0};
  WorkerId opener{0};             ///< of the inner mode; published as `open` is
  std::uint64_t parts = 0;        ///< of its slots
  hold held = hold::free;         ///< changed by the functions below alone
  std::uint32_t sharing = 0;      ///< groups of shared operations that hold it
  std::uint32_t map_version = 0;  ///< by which `inner` is placed
  std::uint32_t outer_in_row = 0;
  std::uint32_t inner_waiting = 0;
  TaskList outer;
  std::array<TaskList, Toggle::kMostInner> inner;
  std::array<ToggleOperation*, Toggle::kMostInner>
      row{};                   ///< the first of the shared ones at the end of `inner`
  MxTask* put_back = nullptr;  ///< before `outer`

  // The group that begins here and holds the bucket, be it of one operation; only it changes these meanwhile.
  bool leads = false;               ///< whether there is one; under the latch
  bool alone = false;               ///< whether it holds its buckets exclusively: not all share
  std::uint32_t reach = 0;          ///< the last bucket that is held with this one
  std::uint64_t reached_parts = 0;  ///< the parts of all held buckets, as their operations name them
  TaskList followers;  ///< that run when those under way have ended, before those buckets are released
  // How many of the operations that began together have not ended. Release where it is set, and acq_rel where
  // it is counted down. The worker that takes the last one off sees the others' work, and goes on for all.
  std::atomic<std::uint32_t> together{0};

  // [To algorithm 2] Pairs: the store that opens `next` publishes `open` and the lists to the worker that
  // takes a slot. `left` publishes the work done in the slots to the one that takes the last off.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next{kClosed};
  std::atomic<std::uint32_t> left{0};
  std::array<std::uint32_t, Toggle::kMostInner> open{};
  std::array<std::atomic<std::uint32_t>, Toggle::kMostInner> together_in_slot{};  ///< as `together`

  // Relaxed: statistics. The first four have one writer, under the latch.
  std::atomic<std::uint64_t> operations{0};  ///< except operations that came along
  std::atomic<std::uint64_t> of_many{0};
  std::atomic<std::uint64_t> inner_operations{0};
  std::atomic<std::uint64_t> phases{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> followed{0};
  std::atomic<std::uint64_t> followed_of_many{0};
  std::atomic<std::uint64_t> shared{0};

  /// Whether nothing may begin until the bucket is released.
  [[nodiscard]] bool closed() const noexcept { return held == hold::alone || held == hold::inner; }
  void hold_alone() noexcept {
    MXKV_ASSERT(held == hold::free && sharing == 0, "an exclusive group begins when all others have ended");
    held = hold::alone;
  }
  void share() noexcept {
    MXKV_ASSERT(!closed() && (held == hold::shared) == (sharing > 0), "shared groups hold it, or none does");
    held = hold::shared;
    ++sharing;
  }
  void open_inner() noexcept {
    MXKV_ASSERT(held == hold::free && sharing == 0, "inner mode begins when all others have ended");
    MXKV_ASSERT(left.load(std::memory_order_relaxed) == 0, "all slots of the phase before are through");
    held = hold::inner;
  }
  void release() noexcept {
    MXKV_ASSERT(held != hold::free, "a group releases what it holds");
    if (held == hold::shared && --sharing > 0) {
      return;
    }
    held = hold::free;
  }

  [[nodiscard]] MxTask* pop_outer() noexcept {
    return put_back != nullptr ? std::exchange(put_back, nullptr) : outer.pop_front();
  }
  [[nodiscard]] bool turn_of_outer() const noexcept {
    return outer_in_row < kOuterInRow || inner_waiting == 0;
  }
  /// `next` comes to the end of a list. Its last shared ones begin with `row`; null: the last one is not
  /// shared.
  static void extend(ToggleOperation*& row, ToggleOperation& next) noexcept {
    if (!next.shared_) {
      row = nullptr;
    } else if (row == nullptr) {
      row = &next;
    } else {
      ++row->beside_;
    }
  }
};

}  // namespace mxkv::runtime

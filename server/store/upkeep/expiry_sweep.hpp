// Active expiry: frees the memory of expired items even if no client asks for them any more.
//
// Each leaf's header states when the first of its items expires (index::Due). So a sweep walks over header
// lines and stops only at due leaves. There it removes the expired items, under one latch, and notes the next
// due time. A sweep begins when some item has expired, judging by the last sweep and by items stored since,
// but at the earliest kEveryUs after the last one began. A sweep that found a due leaf is followed by another:
// entries may move to the leaf's right neighbour before their turn comes. If no item has a time to live, there
// is no sweep. A
// sweep works for a slice of time, with lower priority than all other work of its worker, and then pauses for
// as long: it never takes more than half a core. A slice is a deferred task, so that an idle worker takes it,
// if there is one.
//
// A delayed flush_all is executed in the same way when its time has come: then every leaf is due.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "server/store/core/store_task.hpp"

namespace mxkv::server {

/// One per store, swept by one worker at a time. Thread-safety: any worker, unless stated otherwise.
class ExpirySweep {
 public:
  static constexpr std::uint64_t kEveryUs = 40'000'000;
  static constexpr std::uint64_t kSliceNs = 5'000'000;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit ExpirySweep(StoreState& store) noexcept : store_(store) {}

  /// Notes that the leaf gets an item with this expiry. Under its latch.
  static void note(ItemNode& leaf, std::uint32_t expiry, runtime::Worker& worker) noexcept;

  /// Call it often, and at the time that wake_at_us() returns.
  void tick(runtime::Worker& worker) {
    if (worker.now_us() >= next_us_.load(std::memory_order_relaxed)) [[unlikely]] {
      begin(worker);
    }
  }
  /// When the next look may find an expired item (us since 1970, steady time); kNever if no item is to
  /// expire.
  [[nodiscard]] std::uint64_t wake_at_us() const noexcept { return next_us_.load(std::memory_order_relaxed); }
  /// Whether any item is to expire, as far as is known.
  [[nodiscard]] bool expects() const noexcept {
    return wake_at_us() != kNever || running_.load(std::memory_order_relaxed);
  }
  /// Looks for expired items from then on.
  void expect(std::uint64_t at_us) noexcept;

  [[nodiscard]] std::uint64_t sweeps() const noexcept { return sweeps_.load(std::memory_order_relaxed); }

  // For the sweep's tasks.

  /// A slice begins now. Returns the key where it begins.
  [[nodiscard]] std::string_view begin_slice(std::uint64_t now_ns) noexcept;
  /// Whether the leaf is due for this sweep.
  [[nodiscard]] bool wants(index::Due due) const noexcept {
    return all_ || due.reached(begun_us_ / kUsPerSecond);
  }
  void passed(index::Due due) noexcept { soonest_ = due.or_sooner(soonest_); }
  /// The sweep did not see a leaf that it should have passed.
  void missed() noexcept { clean_ = false; }
  [[nodiscard]] bool slice_over(std::uint64_t now_ns) const noexcept { return now_ns >= slice_end_ns_; }
  /// These two count the leaves whose expired items are being removed. Each takes memory, so a walk must not
  /// run far ahead.
  void leaf_begun() noexcept {
    MXKV_ASSERT(running_.load(std::memory_order_relaxed), "leaves are met while a slice runs");
    clean_ = false;
    leaves_.fetch_add(1, std::memory_order_relaxed);
  }
  void leaf_ended() noexcept {
    const std::uint32_t before = leaves_.fetch_sub(1, std::memory_order_relaxed);
    MXKV_ASSERT(before > 0, "a leaf ends once");
  }
  [[nodiscard]] bool runs_ahead() const noexcept {
    return leaves_.load(std::memory_order_relaxed) > kMostLeaves;
  }
  /// The slice has ended: at this key, or (`exhausted`) with the whole sweep.
  void ended(std::string_view key, bool exhausted, std::uint64_t now_us) noexcept;

 private:
  static constexpr std::uint32_t kMostLeaves = 256;

  void begin(runtime::Worker& worker);
  /// The microseconds of an expiry that StoreState returned.
  [[nodiscard]] static std::uint64_t us_of(std::uint32_t expiry) noexcept;

  StoreState& store_;
  std::atomic<std::uint64_t> next_us_{kNever};  // a hint; any worker that knows an earlier time lowers it
  std::atomic<bool> running_{false};            // acquire and release: hands over the members below

  std::string hand_;  ///< where the next slice begins
  bool resumes_ = false;
  bool all_ = false;              ///< every leaf is due
  std::uint64_t flushed_us_ = 0;  ///< the flush point that was executed last
  std::uint64_t flushing_us_ = 0;
  std::uint64_t first_us_ = kNever;  ///< of the items stored before the sweep began
  index::Due soonest_;               ///< of the leaves that the sweep passed
  bool clean_ = true;                ///< it passed all leaves, and none was due: soonest_ holds for the store
  std::uint64_t slice_end_ns_ = 0;

  std::atomic<std::uint32_t> leaves_{0};  ///< in flight; relaxed: a bound

  std::atomic<std::uint64_t> begun_us_{0};  // relaxed, as all below: for statistics, and for the sweep itself
  std::atomic<std::uint64_t> sweeps_{0};
};

}  // namespace mxkv::server

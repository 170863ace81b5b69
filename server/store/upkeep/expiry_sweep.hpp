// Active expiry: items that nobody asks for any more give their memory back all the same.
//
// Each leaf says in its header when the first of its items expires (index::Due), so a sweep walks over header
// lines and stops only at leaves that are due: there it removes what has expired, under one latch, and notes
// anew when to come again. A sweep begins when something has expired, by what the last one saw and what was
// stored since, but not sooner than kEveryUs after the last one began; where no item has a time to live there
// is none. A sweep works for a slice of time, behind all other work of its worker, and then pauses for as
// long: it never takes more than half a core. A slice is a deferred task, so that it goes to a worker that has
// nothing else to do, if there is one.
//
// A delayed flush_all is carried out in the same way when its time has come: then every leaf is due.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "server/store/store_task.hpp"

namespace mxkv::server {

/// One a store, swept by one worker at a time. Thread-safety: any worker, unless it says otherwise.
class ExpirySweep {
 public:
  static constexpr std::uint64_t kEveryUs = 40'000'000;
  static constexpr std::uint64_t kSliceNs = 5'000'000;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit ExpirySweep(StoreState& store) noexcept : store_(store) {}

  /// The leaf is to hold an item that expires then. Under its latch.
  static void note(ItemNode& leaf, std::uint32_t expiry, runtime::Worker& worker) noexcept;

  /// To be called often, and at the time that wake_at_us() tells.
  void tick(runtime::Worker& worker) {
    if (worker.now_us() >= next_us_.load(std::memory_order_relaxed)) [[unlikely]] {
      begin(worker);
    }
  }
  /// When the next look may find something to do (us since the epoch); kNever while there is nothing.
  [[nodiscard]] std::uint64_t wake_at_us() const noexcept { return next_us_.load(std::memory_order_relaxed); }
  /// Whether any item is to expire, as far as is known.
  [[nodiscard]] bool expects() const noexcept {
    return wake_at_us() != kNever || running_.load(std::memory_order_relaxed);
  }
  /// There is something to look for from then on.
  void expect(std::uint64_t at_us) noexcept;

  [[nodiscard]] std::uint64_t sweeps() const noexcept { return sweeps_.load(std::memory_order_relaxed); }

  // For the sweep's tasks.

  /// A slice begins now; returns the key where.
  [[nodiscard]] std::string_view begin_slice(std::uint64_t now_ns) noexcept;
  /// Of this sweep.
  [[nodiscard]] bool wants(index::Due due) const noexcept {
    return all_ || due.reached(begun_us_ / kUsPerSecond);
  }
  void passed(index::Due due) noexcept { soonest_ = due.or_sooner(soonest_); }
  [[nodiscard]] bool slice_over(std::uint64_t now_ns) const noexcept { return now_ns >= slice_end_ns_; }
  /// A leaf is to be rid of what has expired; it was. A walk must not run far ahead, for each takes memory.
  void leaf_begun() noexcept {
    MXKV_ASSERT(running_.load(std::memory_order_relaxed), "leaves are met while a slice runs");
    leaves_.fetch_add(1, std::memory_order_relaxed);
  }
  void leaf_ended() noexcept {
    const std::uint32_t before = leaves_.fetch_sub(1, std::memory_order_relaxed);
    MXKV_ASSERT(before > 0, "a leaf ends once");
  }
  [[nodiscard]] bool runs_ahead() const noexcept {
    return leaves_.load(std::memory_order_relaxed) > kMostLeaves;
  }
  /// The slice is over: at this key, or (`exhausted`) with the sweep.
  void ended(std::string_view key, bool exhausted, std::uint64_t now_us) noexcept;

 private:
  static constexpr std::uint32_t kMostLeaves = 256;

  void begin(runtime::Worker& worker);
  /// When the first item expires, as StoreState tells it.
  [[nodiscard]] static std::uint64_t us_of(std::uint32_t expiry) noexcept;

  StoreState& store_;
  std::atomic<std::uint64_t> next_us_{kNever};  // a hint, lowered by whoever knows better
  std::atomic<bool> running_{false};            // acquire and release: hands over what follows

  std::string hand_;  ///< where the next slice begins
  bool resumes_ = false;
  bool all_ = false;              ///< every leaf is due
  std::uint64_t flushed_us_ = 0;  ///< the flush point that was carried out last
  std::uint64_t flushing_us_ = 0;
  std::uint64_t first_us_ = kNever;  ///< of what was stored before the sweep began
  index::Due soonest_;               ///< of leaves that were passed
  std::uint64_t slice_end_ns_ = 0;

  std::atomic<std::uint32_t> leaves_{0};  ///< in flight; relaxed: a bound

  std::atomic<std::uint64_t> begun_us_{0};  // relaxed, as all below: for statistics, and the sweep's own
  std::atomic<std::uint64_t> sweeps_{0};
};

}  // namespace mxkv::server

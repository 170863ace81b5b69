// Tells when all changes have ended that a node's workers began before some moment. A node of a cluster leaves
// a shard only then: a change that began while the shard was here may wait for long, as for an earlier write of
// its connection, and its record must be in the log before the shard's last message.
//
// This is the grace period of sleepable RCU (McKenney, "Sleepable RCU", 2006), with changes in the place of
// readers. Periods are numbered. Each worker counts its changes in flight in two counters, by the parity of the
// period in which they begin. When a period is asked for, each worker enters it in its next round, and says
// that the former one has ended once its counter is zero. The next period is asked for when all workers have
// said that, so two counters are enough.
//
// *Why this suffices.* The asker first does what keeps new changes from beginning (it closes a route), then
// stores the period (release). A worker loads it (acquire) and only then enters it, so each change that it
// counts in the new period saw the closed route. All others are in the old counter. A change appends its record
// before it ends, and the worker stores the end (release): so the asker that loads it (acquire) sees the
// record's label.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::server {

/// The changes in flight of one worker. Thread-safety: that worker.
class alignas(2 * runtime::kCacheLineBytes) BegunChanges {
 public:
  using Mark = std::uint16_t;  ///< 1 or 2, for end(); 0: of an operation that is not counted

  /// Shared by all workers.
  struct Asked {
    std::atomic<std::uint64_t> period{0};  // release: the routes closed before
    std::function<void()> ended = [] {};   ///< wakes the asker; called by any worker
  };

  explicit BegunChanges(const Asked& asked) noexcept : asked_(asked) {}
  BegunChanges(const BegunChanges&) = delete;
  BegunChanges& operator=(const BegunChanges&) = delete;

  /// Begins changes, in the same step that saw that they may begin. Each of them ends with this mark.
  [[nodiscard]] Mark begin(std::size_t changes = 1) noexcept {
    in_flight_[period_ % 2] += changes;
    return static_cast<Mark>(1 + period_ % 2);
  }
  /// Ends changes, whose records have been appended.
  void end(Mark mark, std::size_t changes = 1) noexcept {
    std::uint64_t& in_flight = in_flight_[mark - 1U];
    MXKV_ASSERT(in_flight >= changes, "a change ends once");
    in_flight -= changes;
    if (in_flight == 0) {
      tell_end();
    }
  }
  /// Call it in each round.
  void look() noexcept {
    if (const std::uint64_t asked = asked_.period.load(std::memory_order_acquire); asked != period_)
        [[unlikely]] {
      MXKV_ASSERT(asked == period_ + 1 && ended_.load(std::memory_order_relaxed) == period_,
                  "a period is asked for when the one before has ended");
      period_ = asked;
      tell_end();
    }
  }

  /// Any thread: all changes from before this period have ended.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }

 private:
  void tell_end() noexcept {
    if (in_flight_[(period_ + 1) % 2] == 0 && ended_.load(std::memory_order_relaxed) != period_) {
      ended_.store(period_, std::memory_order_release);
      asked_.ended();
    }
  }

  const Asked& asked_;
  std::uint64_t period_ = 0;
  std::array<std::uint64_t, 2> in_flight_{};  ///< by the parity of their period
  std::atomic<std::uint64_t> ended_{0};       // release: the changes' records
};

/// The periods of a node. Thread-safety: one thread, the asker; set_hooks() and add_worker() are for start-up.
class ChangePeriods {
 public:
  struct Hooks {
    std::function<void()> asked;  ///< wakes the workers; called by the asker
    std::function<void()> ended;  ///< wakes the asker; called by any worker
  };

  ChangePeriods() = default;
  ChangePeriods(const ChangePeriods&) = delete;
  ChangePeriods& operator=(const ChangePeriods&) = delete;

  void set_hooks(Hooks hooks) {
    tell_asked_ = std::move(hooks.asked);
    asked_.ended = std::move(hooks.ended);
  }
  /// The counts of one more worker; they live as long as this.
  [[nodiscard]] BegunChanges& add_worker() { return workers_.emplace_back(asked_); }

  /// Asks for the end of all changes that have begun so far. Returns the number for has_ended().
  [[nodiscard]] std::uint64_t ask() {
    wanted_ = newest() + 1;
    go_on();
    return wanted_;
  }
  /// Whether all changes that began before that ask() have ended.
  [[nodiscard]] bool has_ended(std::uint64_t period) {
    MXKV_ASSERT(period <= wanted_, "only what was asked for ends");
    go_on();
    return ended_ >= period;
  }

 private:
  [[nodiscard]] std::uint64_t newest() const noexcept {
    return asked_.period.load(std::memory_order_relaxed);
  }
  void go_on() {
    if (ended_ != newest() && std::ranges::all_of(workers_, [this](const BegunChanges& worker) {
          return worker.ended() == newest();
        })) {
      ended_ = newest();
    }
    if (ended_ == newest() && wanted_ > newest()) {
      asked_.period.store(wanted_, std::memory_order_release);
      tell_asked_();
    }
  }

  BegunChanges::Asked asked_;
  std::function<void()> tell_asked_ = [] {};
  std::deque<BegunChanges> workers_;
  std::uint64_t wanted_ = 0;  ///< the last period that ask() returned
  std::uint64_t ended_ = 0;   ///< all changes from before this period have ended
};

}  // namespace mxkv::server

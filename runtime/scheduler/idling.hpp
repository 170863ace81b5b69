// A worker's action between two rounds: it goes on, waits a moment, or blocks; and for how long.
//
// Looking again after a round that found nothing costs power and, on a shared core, others' time. It pays only
// where work comes sooner than a sleeping thread is awake again. So a worker learns from its last gaps between
// a busy round and the next work. While most were short, it looks up to spin_rounds times more, for as long as
// a short gap lasts, before it blocks. Else it blocks right behind a busy round. Blocking also takes new
// events, so that it is one look at the kernel instead of two.
//
// Two cases are not what they seem. Where tasks retried and none ended, they may wait for a worker that was
// preempted: yield. Where none ended and tasks wait for later, the round was busy for nothing: count it as an
// empty one, and sleep a little.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/scheduler/poller.hpp"

namespace mxkv::runtime {

/// The result of one round.
struct RoundOutcome {
  bool busy = false;         ///< the round did anything
  bool any_ended = false;    ///< a task came to its end
  bool any_retried = false;  ///< a task met a writer
  bool any_later = false;    ///< tasks wait for the next round

  /// Whether anything was done that brings work to its end.
  [[nodiscard]] bool useful() const noexcept { return busy && (!any_later || any_ended); }
};

/// Thread-safety: owner worker only.
class Idling {
 public:
  enum class action : std::uint8_t { go_on, pause, block };
  /// How long a worker that has nothing else sleeps until its next round when tasks wait for that.
  static constexpr std::uint64_t kLaterAfterNs = 200'000;
  /// A gap is short up to here: about what a wake-up costs.
  static constexpr std::uint64_t kShortGapNs = 5'000;

  /// Whether to let another thread run first.
  [[nodiscard]] static bool yields(const RoundOutcome& round) noexcept {
    return round.any_retried && !round.any_ended;
  }
  /// The action after this round, which began at `now_ns`. At most `spin_rounds` empty rounds come before an idle
  /// worker blocks; 0 and 1 are the same.
  [[nodiscard]] action after(const RoundOutcome& round, std::uint64_t now_ns,
                             std::uint32_t spin_rounds) noexcept {
    if (round.useful()) {
      if (gap_begun_) {
        learn(now_ns - gap_ns_);
      }
      gap_begun_ = false;
      empty_rounds_ = 0;
      return spins(spin_rounds) ? action::go_on : action::block;
    }
    begin_gap(now_ns);
    if (spins(spin_rounds) && ++empty_rounds_ < spin_rounds && now_ns - gap_ns_ <= kShortGapNs) {
      return action::pause;
    }
    empty_rounds_ = 0;
    return action::block;
  }
  /// The worker blocks at `now_ns`, unless something has come.
  void begin_gap(std::uint64_t now_ns) noexcept {
    if (!gap_begun_) {
      gap_begun_ = true;
      gap_ns_ = now_ns;
    }
  }
  /// How long it may block: tasks wait for later, objects wait for the epoch, or neither.
  [[nodiscard]] static std::uint64_t block_ns(bool any_later, bool any_retired,
                                              std::uint64_t epoch_interval_ns) noexcept {
    return any_later ? kLaterAfterNs : any_retired ? epoch_interval_ns : Poller::kForever;
  }

 private:
  static constexpr std::uint32_t kMostShort = 16;  ///< of the last gaps, weighted
  static constexpr std::uint32_t kSpinsFrom = 12;
  static constexpr std::uint32_t kLongCounts = 3;  ///< a long gap outweighs so many short ones

  [[nodiscard]] bool spins(std::uint32_t rounds) const noexcept {
    return rounds > 1 && short_gaps_ >= kSpinsFrom;
  }
  void learn(std::uint64_t gap_ns) noexcept {
    short_gaps_ = gap_ns <= kShortGapNs ? std::min(short_gaps_ + 1, kMostShort)
                                        : short_gaps_ - std::min(short_gaps_, kLongCounts);
  }

  std::uint32_t empty_rounds_ = 0;
  std::uint32_t short_gaps_ = 0;
  bool gap_begun_ = false;
  std::uint64_t gap_ns_ = 0;  ///< when the current gap began
};

}  // namespace mxkv::runtime

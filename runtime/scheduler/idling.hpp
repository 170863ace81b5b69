// A worker's action between two rounds: it goes on, waits a moment, or blocks; and for how long.
//
// Behind a busy round a worker either spins or blocks. Spinning looks for work up to spin_rounds times more, for at
// most kMostSpinNs, before it blocks; that costs CPU time, and others' time on a shared core. Blocking at once
// costs the kernel's switch to another thread and back, with cold caches thereafter, and takes new events, too, so
// that it is one look at the kernel instead of two. Which of them costs less depends on the machine, the load, and
// how soon work comes.
//
// So a worker measures the CPU time of a task both ways, and goes the cheaper one. It compares them in pairs of short
// phases, one each way, and changes only where the other way was cheaper in most pairs: a mean would let one
// preemption decide. Then it stays; the longer the same way wins, the rarer the comparisons. It compares at once where
// it spins in vain several times in a row, so that a client that stops to hurry is not spun for.
//
// Two cases are not what they seem. Where tasks retried and none ended, they may wait for a worker that was
// preempted: yield. Where none ended and tasks wait for later, the round was busy for nothing: count it as an
// empty one, and sleep a little.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

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
  /// A worker spins no longer than this, a few times what a wake-up costs.
  static constexpr std::uint64_t kMostSpinNs = 50'000;
  /// Busy rounds of one phase of a pair.
  static constexpr std::uint32_t kPhaseRounds = 16;
  /// Pairs of a comparison at most, and how many of them the other way must win.
  static constexpr std::uint32_t kPairs = 8;
  static constexpr std::uint32_t kWins = 6;
  /// Busy rounds between two comparisons, at least and at most.
  static constexpr std::uint32_t kLeastStay = 256;
  static constexpr std::uint32_t kMostStay = 2048;
  /// Vain spins in a row that bring the next comparison.
  static constexpr std::uint32_t kVain = 8;

  /// Whether to let another thread run first.
  [[nodiscard]] static bool yields(const RoundOutcome& round) noexcept {
    return round.any_retried && !round.any_ended;
  }
  /// The action after this round, which began at `now_ns`. At most `spin_rounds` empty rounds come before an idle
  /// worker blocks; 0 and 1 are the same.
  [[nodiscard]] action after(const RoundOutcome& round, std::uint64_t now_ns,
                             std::uint32_t spin_rounds) noexcept {
    const bool spins = (spins_ != (phase_ == phase::other)) && spin_rounds > 1;
    if (round.useful()) {
      ++busy_rounds_;
      if (spins && empty_rounds_ != 0 && !std::exchange(spun_out_, false)) {
        vain_ = 0;
      }
      empty_rounds_ = 0;
      return spins ? action::go_on : action::block;
    }
    if (empty_rounds_++ == 0) {
      gap_ns_ = now_ns;
    }
    if (!spins) {
      return action::block;
    }
    if (empty_rounds_ < spin_rounds && now_ns - gap_ns_ <= kMostSpinNs) {
      return action::pause;
    }
    vain_ += std::exchange(spun_out_, true) ? 0 : 1;
    return action::block;
  }
  /// Whether a phase has had its rounds: time for next_phase().
  [[nodiscard]] bool phase_is_over() const noexcept {
    return phase_ == phase::stay ? busy_rounds_ >= stay_rounds_ || vain_ >= kVain
                                 : busy_rounds_ >= kPhaseRounds;
  }
  /// Begins the next phase. `cpu_ns`: CPU time of the worker's thread so far; `tasks`: how many have ended so far.
  void next_phase(std::uint64_t cpu_ns, std::uint64_t tasks) noexcept {
    const std::uint64_t ended = tasks - std::exchange(phase_tasks_, tasks);
    const std::uint64_t passed_ns = cpu_ns - std::exchange(phase_cpu_ns_, cpu_ns);
    const std::uint64_t cost_ns = ended == 0 ? 0 : passed_ns / ended;
    busy_rounds_ = vain_ = 0;
    if (phase_ == phase::other) {
      ++(cost_ns != 0 && cost_ns < own_cost_ns_ ? wins_ : losses_);
      phase_ = wins_ < kWins && losses_ <= kPairs - kWins ? phase::own : conclude();
    } else {
      own_cost_ns_ = cost_ns;
      phase_ = phase_ == phase::own ? phase::other : phase::own;
    }
  }
  /// How long it may block: tasks wait for later, objects wait for the epoch, or neither.
  [[nodiscard]] static std::uint64_t block_ns(bool any_later, bool any_retired,
                                              std::uint64_t epoch_interval_ns) noexcept {
    return any_later ? kLaterAfterNs : any_retired ? epoch_interval_ns : Poller::kForever;
  }

 private:
  enum class phase : std::uint8_t { own, other, stay };

  phase conclude() noexcept {
    const bool changes = wins_ >= kWins;
    spins_ = spins_ != changes;
    stay_rounds_ = changes ? kLeastStay : std::min(2 * stay_rounds_, kMostStay);
    wins_ = losses_ = 0;
    return phase::stay;
  }

  bool spins_ = false;  ///< its own way, unless it is in a phase of the other
  phase phase_ = phase::own;
  std::uint32_t empty_rounds_ = 0;
  std::uint64_t gap_ns_ = 0;       ///< when the first empty round behind a busy one began
  std::uint32_t busy_rounds_ = 0;  ///< of this phase
  std::uint32_t stay_rounds_ = kLeastStay;
  std::uint32_t wins_ = 0;  ///< of the other way, in this comparison
  std::uint32_t losses_ = 0;
  bool spun_out_ = false;   ///< it spun in vain in this gap
  std::uint32_t vain_ = 0;  ///< such gaps in a row
  std::uint64_t phase_cpu_ns_ = 0;
  std::uint64_t phase_tasks_ = 0;
  std::uint64_t own_cost_ns_ = 0;  ///< CPU time of a task in the last phase of its own way
};

}  // namespace mxkv::runtime

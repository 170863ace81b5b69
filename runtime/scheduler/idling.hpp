// A worker's action between two rounds: it goes on, waits a moment, or blocks; and for how long.
//
// A round that found nothing costs power and, on a shared core, others' time. So a worker looks spin_rounds
// times more, then blocks. Two cases are not what they seem. Where tasks retried and none ended, they may
// wait for a worker that was preempted: yield. Where none ended and tasks wait for later, the
// round was busy for nothing: count it as an empty one, and sleep a little.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/poller.hpp"

namespace mxkv::runtime {

/// The result of one round.
struct RoundOutcome {
  bool busy = false;         ///< the round did anything
  bool any_ended = false;    ///< a task came to its end
  bool any_retried = false;  ///< a task met a writer
  bool any_later = false;    ///< tasks wait for the next round
};

/// Thread-safety: owner worker only.
class Idling {
 public:
  enum class action : std::uint8_t { go_on, pause, block };
  /// How long a worker that has nothing else sleeps until its next round when tasks wait for that.
  static constexpr std::uint64_t kLaterAfterNs = 200'000;

  /// Empty rounds before an idle worker blocks: 0 and 1 are the same.
  explicit Idling(std::uint32_t spin_rounds) noexcept : spin_rounds_(spin_rounds) {}

  void set_spin_rounds(std::uint32_t rounds) noexcept { spin_rounds_ = rounds; }

  /// Whether to let another thread run first.
  [[nodiscard]] static bool yields(const RoundOutcome& round) noexcept {
    return round.any_retried && !round.any_ended;
  }
  /// The action after this round.
  [[nodiscard]] action after(const RoundOutcome& round) noexcept {
    if (round.busy && (!round.any_later || round.any_ended)) {
      empty_rounds_ = 0;
      return action::go_on;
    }
    if (++empty_rounds_ < spin_rounds_) {
      return action::pause;
    }
    empty_rounds_ = 0;
    return action::block;
  }
  /// How long it may block: tasks wait for later, objects wait for the epoch, or neither.
  [[nodiscard]] static std::uint64_t block_ns(bool any_later, bool any_retired,
                                              std::uint64_t epoch_interval_ns) noexcept {
    return any_later ? kLaterAfterNs : any_retired ? epoch_interval_ns : Poller::kForever;
  }

 private:
  std::uint32_t spin_rounds_;
  std::uint32_t empty_rounds_ = 0;
};

}  // namespace mxkv::runtime

// Decides which worker goes on next. One thread steps all workers, in an order that the seed decides; from
// inside a task, other workers may step on, as if the task's worker had been preempted there. Workers park
// and wake as in Worker::run(), but for blocking: a sleeping worker steps again when its bell was rung, or
// when it has retired objects to look after and nothing else moves.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "tests/simulation/complaints.hpp"

namespace mxkv::simulation {

/// Wake-ups on their way, by worker. Outlives the runtime, whose end wakes all workers.
struct Bells {
  void ring(std::size_t worker) {
    if (lost_of_8 == 0 || random->below(8) >= lost_of_8) {
      ++rung[worker];
    }
  }
  std::vector<std::uint32_t> rung;
  unsigned lost_of_8 = 0;  ///< a fault: how many of eight wake-ups get lost
  runtime::Random* random = nullptr;
};

/// Thread-safety: one thread.
class Stepper {
 public:
  Stepper(runtime::Runtime& runtime, runtime::ManualClock& clock, runtime::Random& random, Bells& bells,
          Complaints& complaints, unsigned interruptions_in_64, bool uneven_speed);

  /// Some worker goes on, perhaps without finding anything to do. False: all workers sleep, and none would
  /// ever wake.
  bool go_on();
  /// Called from inside a task: perhaps other workers go on meanwhile.
  void meanwhile();
  /// Leaves a worker alone until go_on() was called so many times, or until no other worker could step.
  void stall(std::size_t worker, std::uint64_t calls) noexcept {
    states_[worker].stalled_until = calls_ + calls;
  }
  /// From now on no worker is interrupted, slow, or left alone.
  void calm_down() noexcept;
  [[nodiscard]] bool calm() const noexcept { return interruptions_in_64_ == 0; }

  /// The work of other threads, called between steps of workers while another one is interrupted.
  void set_aside(std::function<void()> aside) { aside_ = std::move(aside); }
  /// Called for a worker that is about to sleep; false: it looks once more before it does.
  void set_parks(std::function<bool(std::size_t)> parks) { parks_too_ = std::move(parks); }

  /// The earliest time that a worker in the middle of a step takes for now.
  [[nodiscard]] std::uint64_t earliest_now_us() const noexcept;
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t interruptions() const noexcept { return interruptions_; }
  [[nodiscard]] std::uint64_t parks() const noexcept { return parks_; }

 private:
  static constexpr std::size_t kDeepest = 3;              ///< workers in the middle of a task at once
  static constexpr std::uint64_t kMostTimedWakes = 1000;  ///< that come before all retired objects are freed
  struct State {
    bool asleep = false;
    bool inside = false;  ///< in the middle of a step, interrupted
    bool slow = false;
    std::uint64_t stalled_until = 0;  ///< of `calls_`
  };

  [[nodiscard]] runtime::Worker& worker(std::size_t i) {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  [[nodiscard]] bool is_stalled(const State& state) const noexcept {
    return !even_ && state.stalled_until > calls_;
  }
  void step(std::size_t i);
  [[nodiscard]] bool wake_by_time();
  void look_at_leases();

  runtime::Runtime& runtime_;
  runtime::ManualClock& clock_;
  runtime::Random& random_;
  Bells& bells_;
  Complaints& complaints_;
  unsigned interruptions_in_64_;
  bool even_ = false;  ///< no worker is slow or left alone
  std::vector<State> states_;
  std::function<void()> aside_;
  std::function<bool(std::size_t)> parks_too_;
  std::size_t depth_ = 0;
  std::uint64_t timed_wakes_ = 0;
  std::uint64_t calls_ = 0;  ///< of go_on()
  std::uint64_t steps_ = 0;
  std::uint64_t interruptions_ = 0;
  std::uint64_t parks_ = 0;
};

}  // namespace mxkv::simulation

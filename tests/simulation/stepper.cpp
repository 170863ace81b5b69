#include "tests/simulation/stepper.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::simulation {

Stepper::Stepper(runtime::Runtime& runtime, runtime::ManualClock& clock, runtime::Random& random,
                 Bells& bells, Complaints& complaints, unsigned interruptions_in_64, bool uneven_speed)
    : runtime_(runtime),
      clock_(clock),
      random_(random),
      bells_(bells),
      complaints_(complaints),
      interruptions_in_64_(interruptions_in_64),
      states_(runtime.worker_count()) {
  for (State& state : states_) {
    state.slow = uneven_speed && random_.below(2) == 0;
  }
}

bool Stepper::go_on() {
  ++calls_;
  std::vector<std::size_t> able;
  std::vector<std::size_t> stalled;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].asleep || bells_.rung[i] != 0) {
      (is_stalled(states_[i]) ? stalled : able).push_back(i);
    }
  }
  if (able.empty()) {
    able = std::move(stalled);
  }
  if (able.empty()) {
    return wake_by_time();
  }
  const std::size_t chosen = able[random_.below(able.size())];
  if (even_ || !states_[chosen].slow || able.size() == 1 || random_.below(16) == 0) {
    step(chosen);
  }
  if (steps_ % 4 == 0) {
    look_at_leases();
  }
  return true;
}

void Stepper::calm_down() noexcept {
  interruptions_in_64_ = 0;
  even_ = true;
}

void Stepper::meanwhile() {
  if (depth_ == 0 || depth_ == kDeepest || random_.below(64) >= interruptions_in_64_) {
    return;
  }
  clock_.advance_us(random_.below(1'000));
  for (std::uint64_t others = 1 + random_.below(4); others > 0; --others) {
    if (aside_ && random_.below(2) == 0) {
      aside_();
    }
    const std::size_t chosen = random_.below(states_.size());
    const State& state = states_[chosen];
    if (!state.inside && !is_stalled(state) && (!state.asleep || bells_.rung[chosen] != 0)) {
      ++interruptions_;
      step(chosen);
    }
  }
}

std::uint64_t Stepper::earliest_now_us() const noexcept {
  std::uint64_t earliest = clock_.unix_us();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].inside) {
      earliest =
          std::min(earliest, runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).now_us());
    }
  }
  return earliest;
}

void Stepper::step(std::size_t i) {
  State& state = states_[i];
  if (std::exchange(state.asleep, false)) {
    bells_.rung[i] = 0;
    worker(i).unpark();
  }
  ++steps_;
  ++depth_;
  state.inside = true;
  const bool busy = worker(i).step();
  state.inside = false;
  --depth_;
  if (!busy && random_.below(4) != 0) {
    state.asleep = worker(i).prepare_to_park();
    parks_ += state.asleep ? 1 : 0;
    if (state.asleep && parks_too_ && !parks_too_(i)) {
      ++bells_.rung[i];
    }
  }
}

bool Stepper::wake_by_time() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (worker(i).retired_objects() != 0) {
      if (++timed_wakes_ > kMostTimedWakes) {
        complaints_.add("retired objects are never freed");
        return false;
      }
      clock_.advance_us(std::uint64_t{runtime_.options().epoch.interval_ms} * 1000);
      step(i);
      return true;
    }
  }
  return false;
}

void Stepper::look_at_leases() {
  for (std::size_t owner = 0; owner < states_.size(); ++owner) {
    const runtime::RuntimeOptions& options = runtime_.options();
    const std::size_t pools =
        1 + (options.workers[owner].pools != 0 ? options.workers[owner].pools : options.pools_per_worker);
    const std::size_t first = worker(owner).pinned_pool().index();
    for (std::size_t pool = first; pool < first + pools; ++pool) {
      int holders = 0;
      for (std::size_t i = 0; i < states_.size(); ++i) {
        const bool leases = worker(i).leases(runtime::PoolId{static_cast<std::uint16_t>(pool)});
        complaints_.unless(!leases || !states_[i].asleep, "a worker sleeps over a lease");
        complaints_.unless(!leases || pool != first || i == owner, "a pinned pool is leased by a thief");
        holders += leases ? 1 : 0;
      }
      complaints_.unless(holders <= 1, "two workers lease one pool");
    }
  }
}

}  // namespace mxkv::simulation

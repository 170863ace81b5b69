// A worker's rounds on its own thread: when it pauses, parks and blocks, and how others wake it.
#include <algorithm>
#include <ctime>
#include <thread>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

namespace {

/// CPU time of the calling thread so far. A call of the kernel, so not for each round.
std::uint64_t thread_cpu_ns() noexcept {
  constexpr std::uint64_t kNsPerS = 1'000'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerS + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void Worker::wake() noexcept {
  if (poller_ != nullptr) {
    poller_->wake();
  }
}

bool Worker::wake_if_parked() noexcept {
  if (!parking_.parked() || !parking_.claim()) {  // pairs with prepare_to_park()
    return false;
  }
  wake();
  return true;
}

bool Worker::wake_first_of(const std::vector<WorkerId>& others) noexcept {
  return !others.empty() && runtime_.parked_workers() != 0 &&
         std::ranges::any_of(others,
                             [this](WorkerId other) { return runtime_.worker(other).wake_if_parked(); });
}

bool Worker::mate_idle() const noexcept {
  return std::ranges::any_of(neighbours_.wake_immediate,
                             [this](WorkerId other) { return runtime_.worker(other).load() == 0; });
}

bool Worker::anything_to_run() noexcept {
  return leases_.any_to_run() ||
         std::ranges::any_of(neighbours_.victims,
                             [this](WorkerId victim) {
                               return PoolLeases::has_ready(runtime_.worker(victim).leases_.owned());
                             }) ||
         locality_.any_wait();
}

bool Worker::prepare_to_park() noexcept {
  if (!window_.idle() || leases_.stolen() != nullptr) {
    return false;
  }
  MXKV_ASSERT(leases_.tasks_in_buffer() == 0, "no lease covers a task any more");
  epochs_.leave(id_);
  items_.flush_foreign();
  nodes_.flush_foreign();
  account_.flush();
  return parking_.try_park([this] { return anything_to_run() || runtime_.stopping(); });
}

void Worker::run() {
  Idling idling;
  const std::uint64_t interval_ns = std::uint64_t{runtime_.options().epoch.interval_ms} * 1'000'000;
  while (!runtime_.stopping()) {
    const std::uint64_t ended_before = ended_;
    const std::uint64_t retries_before = counters_.retries.load(std::memory_order_relaxed);
    RoundOutcome round{.busy = step()};
    round.any_ended = ended_ != ended_before;
    round.any_retried = counters_.retries.load(std::memory_order_relaxed) != retries_before;
    round.any_later = window_.any_later();
    if (Idling::yields(round)) {
      std::this_thread::yield();
    }
    const Idling::action action = idling.after(round, now_ns_, runtime_.spin_rounds());
    if (idling.phase_is_over()) [[unlikely]] {
      idling.next_phase(thread_cpu_ns(), ended_);
    }
    if (round.useful() && idle_.runs()) {
      idle_.stop(now_ns_);
    }
    if (action == Idling::action::pause) {
      idle_.start(now_ns_);
      cpu_relax();
    } else if (action == Idling::action::block && prepare_to_park()) {
      idle_.start(runtime_.clock().monotonic_ns());
      count(counters_.parks);
      poller_->block(*this, Idling::block_ns(window_.any_later(), !reclaimer_.empty(), interval_ns));
      unpark();
    }
  }
  epochs_.leave(id_);
}

}  // namespace mxkv::runtime

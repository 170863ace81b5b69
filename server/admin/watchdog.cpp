#include "server/admin/watchdog.hpp"

namespace mxkv::server {

std::optional<hang> WorkerRounds::judge(const WorkerPulse& before, const WorkerPulse& now) noexcept {
  if (before.parked || now.parked) {
    return std::nullopt;
  }
  if (now.rounds == before.rounds) {
    return hang::in_a_task;
  }
  if (now.ended == before.ended && now.retries - before.retries >= kManyRetries) {
    return hang::only_retries;
  }
  return std::nullopt;
}

std::optional<HangingWorker> WorkerRounds::hanging(const std::vector<WorkerPulse>& now) {
  std::optional<HangingWorker> found;
  for (std::size_t i = 0; i < now.size() && i < last_.size() && !found; ++i) {
    if (const std::optional<hang> how = judge(last_[i], now[i])) {
      found = HangingWorker{i, *how};
    }
  }
  last_ = now;
  return found;
}

std::vector<WorkerPulse> pulses(runtime::Runtime& runtime) {
  std::vector<WorkerPulse> found;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    // Read the rounds first: a worker that parks in between is then seen as parked.
    const runtime::WorkerCounters& counters = worker.counters();
    WorkerPulse pulse{.rounds = counters.rounds.load(std::memory_order_relaxed),
                      .ended = counters.ended.load(std::memory_order_relaxed),
                      .retries = counters.retries.load(std::memory_order_relaxed)};
    pulse.parked = worker.parked();
    found.push_back(pulse);
  }
  return found;
}

}  // namespace mxkv::server

#include "server/daemon/watchdog.hpp"

namespace mxkv::server {

std::optional<std::size_t> WorkerRounds::hanging(const std::vector<WorkerPulse>& now) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < now.size() && i < last_.size() && !found; ++i) {
    if (!now[i].parked && !last_[i].parked && now[i].rounds == last_[i].rounds) {
      found = i;
    }
  }
  last_ = now;
  return found;
}

std::vector<WorkerPulse> pulses(runtime::Runtime& runtime) {
  std::vector<WorkerPulse> found;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    // Rounds first: who parks in between is seen as parked.
    const std::uint64_t rounds = worker.counters().rounds.load(std::memory_order_relaxed);
    found.push_back({.parked = worker.parked(), .rounds = rounds});
  }
  return found;
}

}  // namespace mxkv::server

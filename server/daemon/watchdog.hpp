// Whether the workers really make rounds: what the watchdog's pings promise.
//
// A worker that is parked has nothing to do and is fine. One that was found running twice, without a round
// ended in between, hangs in a task. (One that is found running for the first time may just have been woken.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

/// What is seen of a worker at one look.
struct WorkerPulse {
  bool parked = false;
  std::uint64_t rounds = 0;
};

/// Thread-safety: owner only.
class WorkerRounds {
 public:
  /// Takes one look. Returns the first worker that made no round since the last look, though it was at work
  /// then and is now.
  [[nodiscard]] std::optional<std::size_t> hanging(const std::vector<WorkerPulse>& now);

 private:
  std::vector<WorkerPulse> last_;
};

/// Any thread.
[[nodiscard]] std::vector<WorkerPulse> pulses(runtime::Runtime& runtime);

}  // namespace mxkv::server

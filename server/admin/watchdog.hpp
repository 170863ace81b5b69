// Whether the workers really make rounds: what the watchdog's pings promise.
//
// A worker that is parked has nothing to do and is fine. One that was found running twice, without a round
// ended in between, hangs in a task. (One that is found running for the first time may just have been woken.)
// One that put tasks back between two looks, over and over, and ended none, waits for something that never
// comes.
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
  std::uint64_t ended = 0;    ///< tasks
  std::uint64_t retries = 0;  ///< times that a task was put back
};

/// What is wrong with a worker.
enum class hang : std::uint8_t { in_a_task, only_retries };

struct HangingWorker {
  std::size_t worker;
  hang how;
  friend bool operator==(const HangingWorker&, const HangingWorker&) = default;
};

/// Thread-safety: owner only.
class WorkerRounds {
 public:
  /// Takes one look. Returns the first worker that made no round since the last look, or did nothing but put
  /// tasks back, though it was at work then and is now.
  [[nodiscard]] std::optional<HangingWorker> hanging(const std::vector<WorkerPulse>& now);

  /// Times that tasks are put back between two looks before that counts: a busy tree does so, too.
  static constexpr std::uint64_t kManyRetries = runtime::RetryWatch::kMany;

 private:
  [[nodiscard]] static std::optional<hang> judge(const WorkerPulse& before, const WorkerPulse& now) noexcept;

  std::vector<WorkerPulse> last_;
};

/// Any thread.
[[nodiscard]] std::vector<WorkerPulse> pulses(runtime::Runtime& runtime);

}  // namespace mxkv::server

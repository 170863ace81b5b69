// Whether the workers make rounds, which is the condition for the watchdog's pings.
//
// A parked worker has nothing to do and is fine. A worker hangs in a task if it was running at two looks and
// ended no round in between. (A worker that is running at one look may just have been woken.) A worker whose
// tasks retry very often between two looks, and none ends, waits for an event that never comes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

/// One look at a worker.
struct WorkerPulse {
  bool parked = false;
  std::uint64_t rounds = 0;
  std::uint64_t ended = 0;    ///< tasks
  std::uint64_t retries = 0;  ///< how often a task was put back
};

/// How a worker hangs.
enum class hang : std::uint8_t { in_a_task, only_retries };

struct HangingWorker {
  std::size_t worker;
  hang how;
  friend bool operator==(const HangingWorker&, const HangingWorker&) = default;
};

/// Thread-safety: owner only.
class WorkerRounds {
 public:
  /// Takes one look. Returns the first worker that was running at the last look and is now, and since then
  /// ended no round, or only put tasks back.
  [[nodiscard]] std::optional<HangingWorker> hanging(const std::vector<WorkerPulse>& now);

  /// Retries between two looks that count as a hang: a busy tree retries, too, but less often.
  static constexpr std::uint64_t kManyRetries = runtime::RetryWatch::kMany;

 private:
  [[nodiscard]] static std::optional<hang> judge(const WorkerPulse& before, const WorkerPulse& now) noexcept;

  std::vector<WorkerPulse> last_;
};

/// Any thread.
[[nodiscard]] std::vector<WorkerPulse> pulses(runtime::Runtime& runtime);

}  // namespace mxkv::server

// A sink for log lines about faults in the background. The application passes it in, since the runtime knows
// no log.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/ids.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// A task that is put back again and again, and waits in vain.
struct StuckTask {
  WorkerId worker;
  std::string_view task_class;
  std::uint32_t retries;
  std::string_view state;  ///< of the object it waits at, as its class describes it; may be empty
};

/// Thread-safety: any worker.
class Alarm {
 public:
  virtual ~Alarm() = default;
  /// May take as long as a log line does: it comes once for each doubling of a task's retries, after a while.
  virtual void stuck(const StuckTask& task) noexcept = 0;
};

/// Reports to `alarm` a task of `worker` that was put back for the `retries`th time, with the state that the
/// task's class describes. Right after its step::retry; the task's holder.
void report_stuck(Alarm& alarm, WorkerId worker, const MxTask& task, std::uint32_t retries) noexcept;

}  // namespace mxkv::runtime

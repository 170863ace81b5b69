// A sink for log lines about what goes wrong in the background. The application passes it in, since the
// runtime knows no log.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/ids.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// A task that is put back again and again: what it waits for does not come.
struct StuckTask {
  WorkerId worker;
  std::string_view task_class;
  std::uint32_t retries;
  std::string_view state;  ///< of what it waits at, as its class describes it; may be empty
};

/// Thread-safety: any worker.
class Alarm {
 public:
  virtual ~Alarm() = default;
  /// May take as long as a log line does: it comes once for each doubling of a task's retries, after a while.
  virtual void stuck(const StuckTask& task) noexcept = 0;
};

/// Tells `alarm` of a task of `worker` that was put back for the `retries`th time, with what the task's class
/// says it waits at. Right after its step::retry; the task's holder.
void report_stuck(Alarm& alarm, WorkerId worker, const MxTask& task, std::uint32_t retries) noexcept;

}  // namespace mxkv::runtime

// What the runtime tells its application when something goes wrong that nobody waits to be told: a sink for
// log lines, passed in, since the runtime knows no log.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/ids.hpp"

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

}  // namespace mxkv::runtime

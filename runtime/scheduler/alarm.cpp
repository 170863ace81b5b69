#include "runtime/scheduler/alarm.hpp"

#include <array>
#include <cstddef>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

void report_stuck(Alarm& alarm, WorkerId worker, const MxTask& task, std::uint32_t retries) noexcept {
  std::array<char, 160> state{};
  const auto describe = task.task_class().describe;
  const std::size_t bytes = describe == nullptr ? 0 : describe(task, state.data(), state.size());
  MXKV_ASSERT(bytes <= state.size(), "a description fits the room that it was given");
  alarm.stuck({.worker = worker,
               .task_class = task.task_class().name,
               .retries = retries,
               .state = {state.data(), bytes}});
}

}  // namespace mxkv::runtime

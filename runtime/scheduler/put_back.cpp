// Tasks that met what they have to wait for.
#include <array>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::runtime {

// Behind other work, whatever its priority: many tasks of high priority that wait, put back into the buffer,
// would leave no room there for those that they wait for.
void Worker::put_back(MxTask* task) noexcept {
  count(counters_.retries);
  if (const std::uint32_t retries = retry_watch_.note(*task, now_ns_); retries != 0) [[unlikely]] {
    tell_stuck(*task, retries);
  }
  const Annotations& notes = task->annotations();
  if (notes.priority == priority::high && notes.locality == locality::here &&
      notes.target == Annotations::kAnyWorker && !is_bound(*task)) {
    ready_.push_back(task);
  } else {
    spawn(task);
  }
}

void Worker::tell_stuck(const MxTask& task, std::uint32_t retries) noexcept {
  if (retries == RetryWatch::kMany) {
    count(counters_.stuck);
  }
  const bool long_enough = now_ns_ - retry_watch_.since_ns(task) >= RetryWatch::kPatienceNs;
  if (Alarm* const alarm = runtime_.alarm(); alarm != nullptr && long_enough) {
    std::array<char, 160> state{};
    const auto describe = task.task_class().describe;
    const std::size_t bytes = describe == nullptr ? 0 : describe(task, state.data(), state.size());
    alarm->stuck({.worker = id_,
                  .task_class = task.task_class().name,
                  .retries = retries,
                  .state = {state.data(), bytes}});
  }
}

}  // namespace mxkv::runtime

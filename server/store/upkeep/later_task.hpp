// Starts a walk's next part when most writes that its last part started are done. Otherwise a walk that meets
// many items would have a task in flight for each of them.
#pragma once

#include "runtime/scheduler/worker.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/upkeep/background_writes.hpp"

namespace mxkv::server {

/// Checks once a round, with lower priority than all other work. `Walk`: a task with start(Worker&).
template <class Walk>
class LaterTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "walk on later";

  LaterTask(const runtime::TaskClass* task_class, Walk& walk) noexcept : MxTask(task_class), walk_(walk) {
    annotate(runtime::priority::low);
  }
  runtime::step execute(runtime::Worker& worker) {
    if (seen_in_flight(*worker.local<WorkerContext>().store) > kMostSeenInFlight / 2) {
      return runtime::step::later;
    }
    walk_.start(worker);
    return runtime::step::done;
  }
  void discard(runtime::Worker& worker) { walk_.task_class().discard(walk_, worker); }

 private:
  Walk& walk_;
};

/// Counts the writes that a walk starts. A member of the walk.
class WalkPace {
 public:
  /// Call it for each item. Returns whether the walk should pause here.
  [[nodiscard]] bool is_too_fast(runtime::Worker& worker) noexcept {
    if (started_ < kLookEvery) {
      return false;
    }
    started_ = 0;
    return seen_in_flight(*worker.local<WorkerContext>().store) > kMostSeenInFlight;
  }
  void started() noexcept {
    ++started_;
    MXKV_DCHECK(started_ <= kLookEvery, "the pace is looked at for each item");
  }

 private:
  static constexpr unsigned kLookEvery = 64;
  unsigned started_ = 0;
};

}  // namespace mxkv::server

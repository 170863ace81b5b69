// A task with dependencies: it starts when a join is complete, or is counted by one, or both. Other tasks pay
// nothing for that: the compiler adds the work at a task's end only to classes that derive from this one.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/pool/join.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Annotation: the task starts when `join` is complete.
struct after {
  explicit after(Join& what) noexcept : join(&what) {}
  Join* join;
};

/// Annotation: `join` is not complete before the task is done.
struct before {
  explicit before(Join& what) noexcept : join(&what) {}
  Join* join;
};

/// Thread-safety: as MxTask.
class DependentTask : public MxTask {
 public:
  using MxTask::annotate;
  using MxTask::MxTask;
  void annotate(after what) noexcept { after_ = what.join; }
  void annotate(before what) noexcept { before_ = what.join; }

  [[nodiscard]] Join* waits_for() const noexcept { return after_; }
  [[nodiscard]] Join* counts_for() const noexcept { return before_; }

  /// The join has counted the task: it was spawned.
  void set_counted() noexcept { counted_by_ = before_; }
  /// At its end: the join to tell, once; null if there is none.
  [[nodiscard]] Join* take_counted() noexcept { return std::exchange(counted_by_, nullptr); }

 private:
  Join* after_ = nullptr;
  Join* before_ = nullptr;
  Join* counted_by_ = nullptr;
};

static_assert(sizeof(DependentTask) == 64);

}  // namespace mxkv::runtime

// The joins of a runtime, and the spawning and ending of tasks with dependencies. See pool/join.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/pool/dependent_task.hpp"

namespace mxkv::runtime {

class Worker;

/// Table of the joins that are alive. Creating and freeing one is no hot path. Thread-safety: any thread.
class Joins {
 public:
  static constexpr std::size_t kMost = 65'536;

  /// A join that its creator holds, and holds open. `name`: a literal. Error: too many are alive.
  [[nodiscard]] Result<Join*> create(std::string_view name);
  /// Frees a join after its last drop().
  void destroy(Join& join) noexcept;
  [[nodiscard]] std::size_t alive() const noexcept;

  /// Drops all tasks that wait; returns how many. Only when no worker runs.
  std::size_t discard_waiting(Worker& worker) noexcept;

 private:
  mutable detail::ShortLatch latch_;
  std::uint64_t created_ = 0;
  std::vector<std::unique_ptr<Join>> alive_;
};

/// Spawns a task, or parks it until the join that it waits for is complete. On an error nothing happened, and
/// the task stays the caller's. Errors are a cycle, a join that is complete but would have to wait for the
/// task, and a pin. A pin would keep memory from being reclaimed while the task waits. Owner worker only.
[[nodiscard]] Result<MxTask*> spawn_dependent(Worker& worker, DependentTask& task,
                                              const std::source_location& where);

/// A predecessor of `join` is done, or its creator has closed it: the last one starts the tasks that wait.
/// Owner worker only.
void end_predecessor(Worker& worker, Join& join) noexcept;

/// The creator has no more use for the join. Owner worker only.
void release_join(Worker& worker, Join& join) noexcept;

}  // namespace mxkv::runtime

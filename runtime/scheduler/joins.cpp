#include "runtime/scheduler/joins.hpp"

#include <mutex>
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

std::string quoted(std::string_view name) {
  return "\"" + std::string{name} + "\"";
}

Error error_at(const std::source_location& where, const MxTask& task, const std::string& what) {
  return {std::string{where.file_name()} + ":" + std::to_string(where.line()) + ": task " +
          quoted(task.task_class().name) + " " + what};
}

}  // namespace

Result<Join*> Joins::create(std::string_view name) {
  const std::scoped_lock lock{latch_};
  if (alive_.size() == kMost) {
    return Error{"join " + quoted(name) + ": " + std::to_string(kMost) +
                 " joins are alive (allowed: no more; release those that are done with)"};
  }
  Join& join = *alive_.emplace_back(std::make_unique<Join>(name, created_++));
  join.place = alive_.size() - 1;
  return &join;
}

void Joins::destroy(Join& join) noexcept {
  const std::scoped_lock lock{latch_};
  const std::size_t place = join.place;
  MXKV_ASSERT(place < alive_.size() && alive_[place].get() == &join, "a join is freed once");
  std::swap(alive_[place], alive_.back());
  alive_[place]->place = place;
  alive_.pop_back();
}

std::size_t Joins::alive() const noexcept {
  const std::scoped_lock lock{latch_};
  return alive_.size();
}

std::size_t Joins::discard_waiting(Worker& worker) noexcept {
  TaskList all;
  for (const std::unique_ptr<Join>& join : alive_) {
    TaskList waiting = join->take_waiting();
    while (MxTask* task = waiting.pop_front()) {
      all.push_back(task);
    }
  }
  std::size_t discarded = 0;  // which may free joins: not while they are gone through
  while (MxTask* task = all.pop_front()) {
    task->task_class().discard(*task, worker);
    ++discarded;
  }
  return discarded;
}

Result<MxTask*> spawn_dependent(Worker& worker, DependentTask& task, const std::source_location& where) {
  Join* const after = task.waits_for();
  Join* const before = task.counts_for();
  if (after != nullptr && before != nullptr && after->number() >= before->number()) {
    return error_at(where, task,
                    "waits for join " + quoted(after->name()) + " and is counted by " +
                        quoted(before->name()) +
                        ": a dependency cycle (allowed: to wait for a join that was created before)");
  }
  if (after != nullptr && task.annotations().pin_slot != Annotations::kNoPin) {
    return error_at(where, task,
                    "waits for join " + quoted(after->name()) +
                        " with a pin (allowed: none; it holds back the memory of all)");
  }
  if (before != nullptr && !before->add()) {
    return error_at(where, task,
                    "is too late for join " + quoted(before->name()) +
                        ", which is complete (allowed: before it is closed)");
  }
  task.set_counted();
  if (after == nullptr || !after->park(&task)) {
    worker.spawn(&task);
  }
  return &task;
}

void end_predecessor(Worker& worker, Join& join) noexcept {
  if (!join.end_one()) {
    return;
  }
  TaskList waiting = join.take_waiting();
  while (MxTask* task = waiting.pop_front()) {
    worker.spawn(task);
  }
  release_join(worker, join);
}

void release_join(Worker& worker, Join& join) noexcept {
  if (join.drop()) {
    worker.runtime().joins().destroy(join);
  }
}

void detail::end_dependent(Worker& worker, DependentTask& task) noexcept {
  if (Join* const join = task.take_counted()) {
    end_predecessor(worker, *join);
  }
}

}  // namespace mxkv::runtime

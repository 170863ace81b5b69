// Starts tasks together that read from the root down: their common annotations are made once.
#pragma once

#include <cstdint>

#include "index/node_look.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

/// Starts tasks of class Task, as TreeTask::start() does for one. Thread-safety: owner worker only, in one
/// turn of it.
template <class Task>
class StartTogether {
  static_assert(!Task::kWrites, "a writer looks where it writes");
  static_assert(Task::kTargetsLeaf, "the root is not the target where it is no leaf");

 public:
  /// For `tasks` of them: each must be started.
  StartTogether(typename Task::TreeT& tree, std::uint32_t tasks, runtime::Worker& worker) noexcept
      : worker_(worker), root_(tree.root()) {
    notes_.pin_slot = worker.pin_together(tasks);
    notes_.stage = Task::first_stage(root_);
  }

  /// A task that was just created.
  [[gnu::always_inline]] void start(Task& task) noexcept {
    runtime::Annotations notes = notes_;
    notes.block = task.annotations().block;
    task.annotations() = notes;
    task.annotate_lines(root_, 0, 0);
    worker_.spawn(&task);
  }

 private:
  runtime::Worker& worker_;
  runtime::TaggedPointer root_;
  runtime::Annotations notes_{};
};

}  // namespace mxkv::index

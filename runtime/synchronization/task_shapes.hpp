// The shapes of task classes: the functions that guarded execution asks of them [Mx fig. 5].
//
// A task class offers one of these:
//   ExecutingTask   step execute(Worker&)
//                   Runs alone: in the object's pool, or under its latch (readers of a reader/writer latch:
//                   with other readers). No repeatable part.
//   SplitTask       struct Scratch;  void inspect(const OptimisticRead&, Scratch&) const;
//                   step resume(Scratch&, Worker&);
//                   Reads in two halves: inspect touches only its scratch and may be repeated or see torn
//                   words; resume has the effects and runs after the version was validated.
//   UpgradingTask   a SplitTask that also has
//                   bool prepare(Scratch&, Worker&, step& otherwise);  void apply(Scratch&, Worker&);
//                   step finish(Scratch&, Worker&);  void abandon(Scratch&, Worker&);
//                   Its writes inspect optimistically, prepare outside the latch (allocate, decide), take
//                   the latch from the version they saw, and apply without being able to fail. If the version
//                   is gone, abandon() takes back what prepare() made. Where readers take a latch, all is
//                   done under it; see latched_execute.hpp.
//                   It may offer void met_writer(Worker&): called when another task took the latch between its
//                   read and its own try.
// A SplitTask may say by `static constexpr bool kObjectsAreOptimistic = true` that all its objects have one of the two
// optimistic primitives and validate all reads. Guarded execution is compiled for these alone then.
// A SplitTask says by `bool staged() const` whether it goes on from the version an earlier stage saw. `step
// conflict(Worker&)` starts it over when that version is gone.
#pragma once

#include <concepts>

#include "runtime/synchronization/optimistic.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

template <class T>
concept SplitTask = requires(T task, const T constant, const OptimisticRead& read,
                             typename T::Scratch& scratch, Worker& worker) {
  { constant.inspect(read, scratch) } -> std::same_as<void>;
  { task.resume(scratch, worker) } -> std::same_as<step>;
  { constant.staged() } -> std::same_as<bool>;
  { task.conflict(worker) } -> std::same_as<step>;
};

template <class T>
concept UpgradingTask =
    SplitTask<T> && requires(T task, typename T::Scratch& scratch, Worker& worker, step& otherwise) {
      { task.prepare(scratch, worker, otherwise) } -> std::same_as<bool>;
      { task.apply(scratch, worker) } -> std::same_as<void>;
      { task.finish(scratch, worker) } -> std::same_as<step>;
      { task.abandon(scratch, worker) } -> std::same_as<void>;
    };

template <class T>
concept ExecutingTask = requires(T task, Worker& worker) {
  { task.execute(worker) } -> std::same_as<step>;
};

/// Whether a class promises that its objects have one of the optimistic primitives.
template <class T>
[[nodiscard]] constexpr bool objects_are_optimistic() noexcept {
  if constexpr (requires { T::kObjectsAreOptimistic; }) {
    return T::kObjectsAreOptimistic;
  }
  return false;
}

/// A task class that guarded execution can run.
template <class T>
concept GuardedTask = SplitTask<T> || ExecutingTask<T>;

}  // namespace mxkv::runtime

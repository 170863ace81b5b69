// A join counts the tasks that must be done before others start, and keeps the tasks that wait for it. "A task
// starts when the tasks it names are done" [Mx fig. 1, data dependencies]: build before probe.
//
// Two words. `open` counts the predecessors that are not done, and the creator until it closed the join.
// `waiting` is a stack of parked successors; the worker that takes `open` to zero exchanges it, once, for
// "complete" and starts its tasks. A successor that is being parked meanwhile either got onto the stack
// before that exchange, or sees "complete" and starts at once. None is lost, none starts twice.
//
// Joins are numbered as they are created. A task may wait only for a join with a lower number than the one
// that counts it. So no cycle can close, and finding that out takes no walk over the graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/pool/mpsc_queue.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread.
template <StepSchedule Schedule = FreeRunning>
class BasicJoin {
 public:
  /// `name`: a literal, for errors. `number`: the order of creation.
  BasicJoin(std::string_view name, std::uint64_t number) noexcept : name_(name), number_(number) {}
  BasicJoin(const BasicJoin&) = delete;
  BasicJoin& operator=(const BasicJoin&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Counts one more predecessor. False: the join is complete, so no task would wait for it.
  [[nodiscard]] bool add() noexcept {
    std::uint64_t open = open_.load(std::memory_order_relaxed);
    while (open != 0) {
      Schedule::point();
      if (open_.compare_exchange_weak(open, open + 1, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// One predecessor is done, or the creator has closed. True: the last one; its caller must take_waiting()
  /// and then drop().
  [[nodiscard]] bool end_one() noexcept {
    Schedule::point();
    const std::uint64_t open =
        open_.fetch_sub(1, std::memory_order_acq_rel);  // the last one sees the writes of all of them
    MXKV_ASSERT(open != 0, "a predecessor that ends was counted");
    return open == 1;
  }

  /// Parks a successor. False: the join is complete, the caller starts it.
  [[nodiscard]] bool park(MxTask* task) noexcept {
    MxTask* first = waiting_.load(std::memory_order_acquire);  // pairs with take_waiting()
    do {
      if (first == complete()) {
        return false;
      }
      task->next().store(first, std::memory_order_relaxed);
      Schedule::point();
    } while (!waiting_.compare_exchange_weak(first, task, std::memory_order_acq_rel,
                                             std::memory_order_acquire));  // pairs with take_waiting()
    return true;
  }

  /// Declares the join complete and returns the tasks that waited, first parked first. After end_one() said
  /// so, or when no worker runs any more.
  [[nodiscard]] TaskList take_waiting() noexcept {
    Schedule::point();
    MxTask* task = waiting_.exchange(complete(), std::memory_order_acq_rel);  // pairs with park()
    if (task == complete()) {
      return {};
    }
    MxTask* reversed = nullptr;
    while (task != nullptr) {
      MxTask* const next = task->next().load(std::memory_order_relaxed);
      task->next().store(reversed, std::memory_order_relaxed);
      reversed = std::exchange(task, next);
    }
    TaskList list;
    while (reversed != nullptr) {
      MxTask* const next = reversed->next().load(std::memory_order_relaxed);
      list.push_back(std::exchange(reversed, next));
    }
    return list;
  }

  /// The creator has no more use for it, or it is complete. True: both, so it may be freed.
  [[nodiscard]] bool drop() noexcept {
    Schedule::point();
    const unsigned holders = holders_.fetch_sub(1, std::memory_order_acq_rel);
    MXKV_ASSERT(holders == 1 || holders == 2, "a join is dropped by its creator and by its completion");
    return holders == 1;
  }

  std::size_t place = 0;  ///< of the table that it is in

 private:
  [[nodiscard]] MxTask* complete() noexcept { return reinterpret_cast<MxTask*>(this); }  // no task's address

  std::atomic<std::uint64_t> open_{1};
  std::atomic<MxTask*> waiting_{nullptr};
  std::atomic<unsigned> holders_{2};
  std::string_view name_;
  std::uint64_t number_;
};

using Join = BasicJoin<>;

}  // namespace mxkv::runtime

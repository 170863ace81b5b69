// Queue of tasks with many producers and one consumer; a push is one atomic exchange [Mx 2.2].
//
// Intrusive, after Vyukov: `tail` is exchanged, then the former tail is linked to the new task. Between the
// two the chain looks cut: pop() then says `linking`, which means busy (look again later), never empty.
// Empty means that the tail is the stub. `Schedule::point()` marks the places between two atomic steps, so
// that a test can interleave producers and consumer as it likes; in the product it is nothing.
#pragma once

#include <atomic>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/schedule.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// The finding of pop().
enum class pop_state : std::uint8_t { task, empty, linking };

struct PopResult {
  pop_state state;
  MxTask* task;  ///< only with pop_state::task
};

template <StepSchedule Schedule = FreeRunning>
class BasicMpscQueue {
 public:
  BasicMpscQueue() noexcept : tail_(&stub_), head_(&stub_) {}
  BasicMpscQueue(const BasicMpscQueue&) = delete;
  BasicMpscQueue& operator=(const BasicMpscQueue&) = delete;

  /// Appends `task`. Any thread; wait-free. seq_cst: the pool word is read afterwards (see task_pool.hpp).
  void push(MxTask* task) noexcept {
    MXKV_DCHECK(task != nullptr, "a task is pushed");
    task->next().store(nullptr, std::memory_order_relaxed);
    MxTask* before = tail_.exchange(task, std::memory_order_seq_cst);
    Schedule::point();
    before->next().store(task, std::memory_order_release);  // pairs with the acquires in pop()
  }

  /// Takes the oldest task. Consumer only.
  PopResult pop() noexcept {
    MxTask* head = head_;
    MxTask* next = head->next().load(std::memory_order_acquire);  // pairs with push()
    if (head == &stub_) {
      if (next == nullptr) {
        return {tail_.load(std::memory_order_seq_cst) == &stub_ ? pop_state::empty : pop_state::linking,
                nullptr};
      }
      head_ = head = next;
      next = head->next().load(std::memory_order_acquire);  // pairs with push()
    }
    if (next != nullptr) {
      head_ = next;
      // Another worker wrote it: a miss, for the link at the next pop and for the rest when it runs [Mx 3].
      prefetch_read(next);
      prefetch_line(next, 1);
      return {pop_state::task, head};
    }
    if (tail_.load(std::memory_order_seq_cst) != head) {
      return {pop_state::linking, nullptr};
    }
    // `head` is the last task: put the stub behind it so that it can be handed out.
    Schedule::point();
    push(&stub_);
    Schedule::point();
    next = head->next().load(std::memory_order_acquire);  // pairs with push()
    if (next != nullptr) {
      head_ = next;
      return {pop_state::task, head};
    }
    return {pop_state::linking, nullptr};
  }

  /// Whether nothing is in it and nothing is being linked. Consumer only.
  [[nodiscard]] bool empty() const noexcept {
    return head_ == &stub_ && tail_.load(std::memory_order_seq_cst) == &stub_;
  }

 private:
  alignas(kCacheLineBytes) std::atomic<MxTask*> tail_;
  alignas(kCacheLineBytes) MxTask* head_;
  MxTask stub_{nullptr};
};

using MpscQueue = BasicMpscQueue<>;

}  // namespace mxkv::runtime

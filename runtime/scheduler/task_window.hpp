// The tasks that a worker has for itself: the prefetch buffer, and the lists of tasks that wait for it.
//
//   ready ──────┐ first in, first out, while the window has room
//   low ────────┤ when nothing else fills it          ┌── again: the task keeps its place
//   urgent ─────┼──────────────> prefetch buffer ─────┤
//   pools ──────┤ a quantum each, beyond the window   └── retry, later: back to a list
//   later ──────┘ at the start of the next round
//
// Finishing begun work keeps the working set in cache: new tasks wait until the window has room. A pool's
// task leaves the buffer when it ran, while a free one keeps its place for as long as it goes on. So free
// tasks leave a quantum of places to pools, and pools leave one to the free tasks that wait.
//
//   0        window          free_at_most      filled_by_pools     buffered_at_most     capacity
//   |─ ready ──|── urgent ───────|── pools ──────────|── a quantum of ready ──|── kept places ──|
//
// The part knows no pools and no other workers. It counts nothing but its tasks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/options.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/pool/task_pool.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only.
class TaskWindow {
 public:
  /// Tasks that each pool may put into the buffer beyond the window, so that free tasks cannot starve pools;
  /// and free tasks, so that pools cannot starve them.
  static constexpr std::uint32_t kQuantum = 16;
  /// Refills of a full window until the waiting free tasks get a quantum.
  static constexpr std::uint32_t kFullRefills = 4;
  static constexpr std::uint32_t kBufferedAtMost = PrefetchBuffer::kCapacity - kQuantum;

  /// `buffered_tasks` as in RuntimeOptions.
  explicit TaskWindow(std::uint32_t buffered_tasks) noexcept
      : buffer_(PrefetchOptions{}),
        buffered_at_most_(buffered_tasks == 0 ? kBufferedAtMost : std::min(buffered_tasks, kBufferedAtMost)),
        filled_by_pools_(buffered_at_most_ - std::min(kQuantum, buffered_at_most_ / 4)),
        free_at_most_(filled_by_pools_ - std::min(kQuantum, buffered_at_most_ / 4)) {
    MXKV_ASSERT(free_at_most_ > 0 && free_at_most_ <= filled_by_pools_,
                "free tasks find a place, and leave one to pools");
  }
  TaskWindow(const TaskWindow&) = delete;
  TaskWindow& operator=(const TaskWindow&) = delete;
  ~TaskWindow() = default;

  [[nodiscard]] PrefetchBuffer& buffer() noexcept { return buffer_; }
  [[nodiscard]] const PrefetchBuffer& buffer() const noexcept { return buffer_; }
  [[nodiscard]] std::uint32_t buffered_at_most() const noexcept { return buffered_at_most_; }
  /// Whether any task waits outside of the buffer, later ones aside.
  [[nodiscard]] bool any_waits() const noexcept { return !ready_.empty() || !low_priority_.empty(); }
  [[nodiscard]] bool any_ready() const noexcept { return !ready_.empty(); }
  [[nodiscard]] bool any_later() const noexcept { return !later_.empty(); }
  /// Whether nothing is to be run now.
  [[nodiscard]] bool idle() const noexcept { return buffer_.empty() && !any_waits(); }

  // --- Tasks that come ---

  /// Behind all that waits for the window.
  void add_ready(MxTask* task) noexcept { ready_.push_back(task); }
  /// Runs when nothing else fills the window.
  void add_low(MxTask* task) noexcept { low_priority_.push_back(task); }
  /// Does not wait for the window, as long as the buffer has places.
  void add_urgent(MxTask* task) noexcept {
    if (buffer_.size() < free_at_most_) {
      buffer_.push(task);
    } else {
      MXKV_PATH(buffer_full_for_high);
      ready_.push_back(task);
    }
  }
  /// Waits for the next round.
  void add_later(MxTask* task) noexcept { later_.push_back(task); }
  /// The task that was taken from the buffer to run goes on.
  void keep_place(MxTask* task) noexcept { buffer_.push(task); }

  // --- Tasks that enter the buffer ---

  /// A round begins: calls spawn(task) for each task that waited for it. A task that says `later` once more
  /// waits for the round after this one.
  template <std::invocable<MxTask*> Spawn>
  void begin_round(const Spawn& spawn) noexcept {
    TaskList waited = std::exchange(later_, {});
    while (MxTask* const task = waited.pop_front()) {
      spawn(task);
    }
  }
  /// The task at `place` of the buffer ended: the next waiting task takes its place, if the window has one
  /// for it; its lines are still to be asked for. Null: none did, and the task is to be taken out.
  [[gnu::always_inline]] MxTask* pass_place(std::uint32_t place) noexcept {
    if (buffer_.size() <= buffer_.window()) {
      if (MxTask* const task = ready_.pop_front()) [[likely]] {
        buffer_.give_place(place, task);
        return task;
      }
    }
    return nullptr;
  }
  /// Fills the window with tasks that wait for it.
  void refill_ready() noexcept {
    while (buffer_.room() > 0) {
      MxTask* const task = ready_.pop_front();
      if (task == nullptr) {
        return;
      }
      buffer_.push(task);
    }
  }
  /// Fills the window. Tasks of low priority enter unless others_wait() says that tasks outside go first.
  template <std::predicate OthersWait>
  void refill(const OthersWait& others_wait) noexcept {
    refill_ready();
    while (buffer_.room() > 0 && !low_priority_.empty() && !others_wait()) {
      buffer_.push(low_priority_.pop_front());
    }
  }
  /// How many tasks a pool may put into the buffer now: the window's room, at least a quantum.
  [[nodiscard]] std::uint32_t share_of_a_pool() const noexcept { return std::max(buffer_.room(), kQuantum); }
  /// Takes at most `most` tasks of a leased pool into the buffer, while the places of pools last. Returns how
  /// many it took.
  std::uint32_t fill_from(TaskPool& pool, std::size_t tag, std::uint32_t most) noexcept {
    std::uint32_t taken = 0;
    for (; taken < most && pools_may_enter(); ++taken) {
      MxTask* task = pool.next_task();
      if (task == nullptr) {
        break;
      }
      add_from(pool, tag, task);
    }
    return taken;
  }
  /// Takes one task of a leased pool into the buffer.
  void add_from(TaskPool& pool, std::size_t tag, MxTask* task) noexcept {
    MXKV_DCHECK(tag != 0, "the task of a pool has a tag");
    pool.entered_buffer();
    buffer_.push(task, tag);
  }
  /// Whether the places of pools last.
  [[nodiscard]] bool pools_may_enter() const noexcept { return buffer_.size() < filled_by_pools_; }

  /// After pools had their turn: where they, or tasks that respawn without end, fill the window by themselves,
  /// waiting free tasks get a quantum; at once in the first case, now and then in the second.
  /// `pool_tasks()`: how many of the buffer's tasks come from pools.
  template <std::regular_invocable PoolTasks>
  void admit_quantum(bool filled_by_pools, const PoolTasks& pool_tasks) noexcept {
    if (buffer_.room() != 0 || !(filled_by_pools || ++full_refills_ % kFullRefills == 0)) {
      return;
    }
    const std::uint32_t of_pools = pool_tasks();
    MXKV_DCHECK(of_pools <= buffer_.size(), "what pools have in the buffer is in it");
    std::uint32_t free = buffer_.size() - of_pools;
    for (std::uint32_t taken = 0;
         taken < kQuantum && buffer_.size() < buffered_at_most_ && free < free_at_most_; ++taken, ++free) {
      MxTask* task = ready_.pop_front();
      if (task == nullptr) {
        return;
      }
      buffer_.push(task);
    }
  }

  // --- For tests and for the end ---

  /// Calls f(task) for each task of the buffer and the lists; later ones aside. Nothing changes.
  template <std::invocable<MxTask&> F>
  void for_each(const F& f) {
    for (std::uint32_t left = buffer_.size(); left > 0; --left) {
      const BufferedTask next = buffer_.pop();
      f(*next.task);
      buffer_.push(next.task, next.pool);
    }
    for (TaskList* const list : {&ready_, &low_priority_}) {
      TaskList waiting = std::exchange(*list, {});
      while (MxTask* const task = waiting.pop_front()) {
        f(*task);
        list->push_back(task);
      }
    }
  }
  /// The next task of the lists, to be dropped; null: none is left.
  [[nodiscard]] MxTask* take_waiting() noexcept {
    for (TaskList* const list : {&ready_, &low_priority_, &later_}) {
      if (MxTask* const task = list->pop_front()) {
        return task;
      }
    }
    return nullptr;
  }

 private:
  PrefetchBuffer buffer_;
  TaskList ready_;         ///< free tasks that wait for the window
  TaskList low_priority_;  ///< run when nothing else fills the window
  TaskList later_;         ///< for the next round
  std::uint32_t buffered_at_most_;
  std::uint32_t filled_by_pools_;  ///< a quantum less, else the free tasks' quantum would never find a place
  std::uint32_t free_at_most_;     ///< another one less: free tasks, else pools would never find a place
  std::uint32_t full_refills_ = 0;
};

}  // namespace mxkv::runtime

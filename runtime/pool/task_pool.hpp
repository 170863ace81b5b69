// Task pool = synchronization domain [MK 5]: tasks bound to objects that only this pool's holder may write.
//
// Any thread spawns into it with one exchange. One worker at a time executes from it: it holds the *lease*.
// The pool word says where the pool stands:
//
//   empty        nothing to do                                  ready         has tasks, no lease is held
//   leased       a worker executes from it                      leased_dirty  the same, and tasks came since
//
//   spawn():  push, then  empty -> ready (the spawner tells the owner)   leased -> leased_dirty
//   take():   ready -> leased (acquire)
//   give():   leased -> empty,  leased_dirty -> ready (release)
//
// No task is lost: spawn() pushes (seq_cst) before it reads the word, take() changes the word before it
// pops. So either the taker finds the task, or the spawner sees the lease and marks it dirty. A spurious
// `ready` costs one look at an empty queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/pool/mpsc_queue.hpp"

namespace mxkv::runtime {

enum class pool_state : std::uint32_t { empty, ready, leased, leased_dirty };

template <StepSchedule Schedule = FreeRunning>
class BasicTaskPool {
 public:
  BasicTaskPool() noexcept = default;
  /// Names the pool; before it is used.
  void assign(PoolId id, WorkerId owner) noexcept {
    MXKV_ASSERT(state() == pool_state::empty, "a pool is named before it is used");
    id_ = id;
    owner_.store(owner.value(), std::memory_order_relaxed);
  }

  [[nodiscard]] PoolId id() const noexcept { return id_; }
  /// The worker that executes from it unless it is stolen. Any thread, after it made the pool ready.
  [[nodiscard]] WorkerId owner() const noexcept {
    return WorkerId{owner_.load(std::memory_order_seq_cst)};  // pairs with set_owner()
  }
  /// Gives the pool another owner, which looks at its state afterwards. So a spawner that made it ready and
  /// told the former owner is not missed. The new owner only.
  void set_owner(WorkerId owner) noexcept { owner_.store(owner.value(), std::memory_order_seq_cst); }
  [[nodiscard]] pool_state state() const noexcept { return word_.load(std::memory_order_seq_cst); }

  /// Whether thieves leave it to its owner, as the rebalancer has found that one to have time for it. A hint:
  /// the owner runs it in any case. Any thread.
  [[nodiscard]] bool kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  void keep(bool kept) noexcept { kept_.store(kept, std::memory_order_relaxed); }
  /// Whether a thief may take it now. Any thread.
  [[nodiscard]] bool stealable() const noexcept { return state() == pool_state::ready && !kept(); }

  /// Appends a task. True: the pool became ready, tell the owner. Any thread.
  [[nodiscard]] bool spawn(MxTask* task) noexcept;

  /// Takes the lease of a ready pool. False: nothing to take. Any worker.
  [[nodiscard]] bool take() noexcept;

  /// Gives the lease back, with the tasks of the lease-local list: the next holder finds them there. None of
  /// the pool's tasks may sit in the holder's prefetch buffer. True: tasks are left, the pool is ready, and
  /// no worker was notified. Holder only.
  bool give() noexcept;

  // The following are for the holder of the lease only.

  /// The next task: tasks that the holder itself spawned here take turns with tasks from outside.
  [[nodiscard]] MxTask* next_task() noexcept;
  /// Appends a task of the holder's own: a plain list operation.
  void spawn_locally(MxTask* task) noexcept { local_.push_back(task); }
  /// Whether no task of the pool waits locally or is being executed.
  [[nodiscard]] bool idle() const noexcept { return local_.empty() && in_buffer_ == 0; }
  /// Tasks of this pool that sit in the holder's prefetch buffer.
  [[nodiscard]] std::uint32_t in_buffer() const noexcept { return in_buffer_; }
  /// Counts tasks of this pool that sit in the holder's prefetch buffer; the lease covers them.
  void entered_buffer() noexcept { ++in_buffer_; }
  void left_buffer() noexcept {
    MXKV_ASSERT(in_buffer_ > 0, "a task leaves the buffer that it entered");
    --in_buffer_;
  }
  /// Counts tasks that were taken to be executed.
  void count_taken(std::uint32_t tasks) noexcept {
    taken_.store(taken() + tasks, std::memory_order_relaxed);  // one writer at a time, by the lease
  }
  /// Tasks taken since this was last asked.
  [[nodiscard]] std::uint64_t taken_since_sample() noexcept {
    const std::uint64_t before = std::exchange(sampled_, taken());
    return sampled_ - before;
  }
  /// Tasks taken so far. Any thread.
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

 private:
  BasicMpscQueue<Schedule> queue_;
  alignas(kCacheLineBytes) std::atomic<pool_state> word_{pool_state::empty};
  PoolId id_{};
  std::atomic<WorkerId::rep> owner_{0};
  std::atomic<bool> kept_{false};
  alignas(kCacheLineBytes) TaskList local_;
  std::uint32_t in_buffer_ = 0;
  bool from_outside_ = false;  ///< where the last task was asked for first
  std::atomic<std::uint64_t> taken_{0};
  std::uint64_t sampled_ = 0;
};

using TaskPool = BasicTaskPool<>;

template <StepSchedule Schedule>
bool BasicTaskPool<Schedule>::spawn(MxTask* task) noexcept {
  queue_.push(task);
  Schedule::point();
  pool_state state = word_.load(std::memory_order_seq_cst);
  for (;;) {
    pool_state wanted{};
    switch (state) {
      case pool_state::ready:
      case pool_state::leased_dirty:
        return false;
      case pool_state::empty:
        wanted = pool_state::ready;
        break;
      case pool_state::leased:
        wanted = pool_state::leased_dirty;
        break;
    }
    Schedule::point();
    if (word_.compare_exchange_weak(state, wanted, std::memory_order_seq_cst)) {  // pairs with take(), give()
      return wanted == pool_state::ready;
    }
  }
}

template <StepSchedule Schedule>
bool BasicTaskPool<Schedule>::take() noexcept {
  pool_state expected = pool_state::ready;
  // seq_cst: the pops that follow must see every push whose spawner saw `ready`.
  return word_.compare_exchange_strong(expected, pool_state::leased,
                                       std::memory_order_seq_cst);  // pairs with give()
}

template <StepSchedule Schedule>
bool BasicTaskPool<Schedule>::give() noexcept {
  MXKV_ASSERT(in_buffer_ == 0, "a lease covers all tasks of the pool that its holder took");
  pool_state expected = pool_state::leased;
  // A queue that is not empty must stay ready even if no spawner came since. The holder may have stopped at
  // its quantum, or met a task that was still being linked.
  const bool drained = local_.empty() && queue_.empty();
  Schedule::point();
  if (drained && word_.compare_exchange_strong(expected, pool_state::empty, std::memory_order_seq_cst)) {
    return false;
  }
  MXKV_ASSERT(expected == pool_state::leased || expected == pool_state::leased_dirty,
              "only a held lease is given back");
  word_.store(pool_state::ready, std::memory_order_seq_cst);  // pairs with take()
  return true;
}

template <StepSchedule Schedule>
MxTask* BasicTaskPool<Schedule>::next_task() noexcept {
  // In turn: tasks that respawn themselves here for ever must not keep out tasks from outside.
  from_outside_ = !from_outside_;
  if (from_outside_) {
    if (MxTask* task = queue_.pop().task) {
      return task;
    }
    return local_.pop_front();
  }
  if (MxTask* task = local_.pop_front()) {
    return task;
  }
  return queue_.pop().task;
}

}  // namespace mxkv::runtime

// A worker's immediate tasks, its group's deferred ones, and the order in which it takes those and others'
// [LAS 4].
//
//   immediate   a queue a worker        deferred   a queue a core group, by request
//
// A worker takes the first that there is (the five rules of 4.2):
//   1  the youngest immediate task of its own
//   2  the oldest immediate task of another worker of its core group, by increasing cache distance
//   3  the youngest deferred task of the oldest request of its group
//   4  the oldest deferred task of the second oldest request of another group, by increasing NUMA distance
//   5  the oldest immediate task of a worker of another group on its node, in turn
//   6  ours: the oldest immediate task of a worker of another node with more than `spill_above` of them
// In the paper immediate tasks never leave their node, so that a request alone uses no other (figure-las).
// With task_order::nls the whole machine is one group whose deferred tasks go in the order that they were
// spawned in, and rule 2 is gone: 1, 3, 5 are then the rules of the baseline [LAS 6.1].
//
// The tasks that a worker runs sit in its prefetch buffer and execute there first in, first out: these rules
// order the tasks that enter. Rule 1 adds tasks while few others are there, so that the tasks behind them are
// there for other workers. Each kEldest-th task that it takes is the worker's oldest, so that a worker that
// spawns without end comes to all. Rule 3 adds one task a refill, likewise while few are there. The other rules
// are for a worker that has nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/options.hpp"
#include "runtime/pool/deferred_queue.hpp"
#include "runtime/pool/immediate_queue.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/scheduler/task_window.hpp"

namespace mxkv::runtime {

/// The queues that one worker takes tasks from; all outlive it.
struct LocalityPeers {
  DeferredQueue* own_group = nullptr;
  std::vector<ImmediateQueue*> group_mates;  ///< by increasing cache distance (rule 2)
  std::vector<DeferredQueue*> far_groups;    ///< nearest first (rule 4)
  std::vector<ImmediateQueue*> node_mates;   ///< of other groups, in a fixed order (rule 5)
  std::vector<ImmediateQueue*> far_mates;    ///< of other nodes, nearest first (rule 6)
};

/// Thread-safety: owner worker only; immediate() see ImmediateQueue.
class LocalityQueues {
 public:
  static constexpr std::size_t kRules = 6;
  /// Tasks taken, by rule.
  using Counters = std::array<std::atomic<std::uint64_t>, kRules>;

  /// `taken` counts what it takes; `spill_above` as in RuntimeOptions.
  LocalityQueues(task_order order, std::uint32_t spill_above, Counters& taken) noexcept
      : order_(order), spill_above_(spill_above), taken_(taken) {}
  LocalityQueues(const LocalityQueues&) = delete;
  LocalityQueues& operator=(const LocalityQueues&) = delete;
  ~LocalityQueues() = default;

  /// Start-up only, once.
  void connect(LocalityPeers peers) noexcept {
    MXKV_ASSERT(peers_.own_group == nullptr && peers.own_group != nullptr, "a worker is in one group");
    peers_ = std::move(peers);
  }

  /// This worker's queue: others take from it, too.
  [[nodiscard]] ImmediateQueue& immediate() noexcept { return immediate_; }
  void add_immediate(MxTask* task) { immediate_.push(task); }
  /// Whether so many immediate tasks wait here that other nodes may take some.
  [[nodiscard]] bool spills() const noexcept { return spill_above_ != 0 && immediate_.size() > spill_above_; }
  /// Any thread.
  void add_deferred(MxTask* task) { own_group().push(task); }

  /// Moves tasks into the buffer by the rules.
  void refill(TaskWindow& window) noexcept;
  /// Whether tasks wait that go before tasks of low priority.
  [[nodiscard]] bool own_wait() const noexcept { return immediate_.waiting() || own_group().waiting(); }
  /// Whether tasks wait that this worker could take.
  [[nodiscard]] bool any_wait() const noexcept;
  /// The next task of this worker's queue or of its group's, to be dropped; null: none is left.
  [[nodiscard]] MxTask* take_waiting() noexcept;

 private:
  enum class rule : std::uint8_t {
    own_immediate,
    of_group_mate,
    own_deferred,
    of_far_group,
    of_node_mate,
    of_far_mate
  };

  [[nodiscard]] DeferredQueue& own_group() const noexcept {
    MXKV_DCHECK(peers_.own_group != nullptr, "the worker was connected");
    return *peers_.own_group;
  }
  bool adopt(PrefetchBuffer& buffer, MxTask* task, rule by) noexcept;
  [[nodiscard]] MxTask* next_own_immediate() noexcept;
  [[nodiscard]] MxTask* next_own_deferred() noexcept;
  [[nodiscard]] MxTask* next_of_group_mates() noexcept;
  [[nodiscard]] MxTask* next_of_node_mates() noexcept;
  [[nodiscard]] MxTask* next_of_far_mates() noexcept;

  task_order order_;
  std::uint32_t spill_above_;
  Counters& taken_;
  LocalityPeers peers_;
  ImmediateQueue immediate_;
  std::uint32_t crowded_refills_ = 0;  ///< with enough other tasks in the buffer
  std::uint64_t immediate_taken_ = 0;  ///< of its own
  std::size_t next_node_mate_ = 0;     ///< where rule 5 found a task
};

}  // namespace mxkv::runtime

// The pools that a worker looks after, and the leases that it holds, on its own pools and on a stolen one
// [MK 5].
//
//             take                            steal
//   none ───────────────> own      none ───────────────> stolen
//   own ─── give back ──> none     stolen ─ give back ─> none
//
// The holder of the lease executes from the pool; its owner looks at it and is notified of it. A pool that
// may be stolen is leased for a term: the tasks taken from it run, then it is given back. The tasks left in
// it are for the first worker that looks. One such pool is leased at each visit, for fairness; further ones
// only where the window has room. So a busy worker leaves the rest to thieves.
//
// At most one pool is stolen at a time. At most one is leaving for another owner: no more of its tasks enter
// the buffer. The part wakes no worker and moves no task.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/pool/owned_pools.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/pool/task_pool.hpp"

namespace mxkv::runtime {

/// How a worker stands to one pool.
enum class lease_state : std::uint8_t {
  none,    ///< not held
  own,     ///< held since a look at the worker's own pools
  stolen,  ///< held since it was another worker's
};

/// Thread-safety: owner worker only; at owned() see OwnedPools.
class PoolLeases {
 public:
  /// In the prefetch buffer: the tag of the stolen pool's tasks. Tasks of slot i have the tag i + 1.
  static constexpr std::size_t kStolenTag = PrefetchBuffer::kMaxPools;

  /// The result of one visit to the worker's pools.
  struct LeaseOutcome {
    bool leased_one = false;  ///< a pool that may be stolen was leased
    bool left_one = false;    ///< a pool that may be stolen was left ready, for thieves
  };

  /// `pool_count`: of all workers.
  PoolLeases(std::span<TaskPool> pools, std::size_t pool_count)
      : owned_(pools), states_(pool_count, lease_state::none) {}
  PoolLeases(const PoolLeases&) = delete;
  PoolLeases& operator=(const PoolLeases&) = delete;
  ~PoolLeases() = default;

  [[nodiscard]] OwnedPools& owned() noexcept { return owned_; }
  [[nodiscard]] const OwnedPools& owned() const noexcept { return owned_; }
  [[nodiscard]] bool holds(PoolId pool) const noexcept { return state(pool) != lease_state::none; }
  [[nodiscard]] lease_state state(PoolId pool) const noexcept { return states_[pool.value()]; }
  [[nodiscard]] const TaskPool* stolen() const noexcept { return stolen_; }
  [[nodiscard]] const TaskPool* leaving() const noexcept { return leaving_; }
  /// The pool that a task of the buffer is tagged with.
  [[nodiscard]] TaskPool& tagged(std::size_t tag) noexcept {
    MXKV_DCHECK(tag != 0 && (tag != kStolenTag || stolen_ != nullptr), "a tag names a pool that is here");
    return tag == kStolenTag ? *stolen_ : *owned_.at(tag - 1);
  }

  /// Calls fill(slot, pool) for each own pool that it leases and that may enter the buffer now. Gives back
  /// those that are through. `may_be_stolen`: whether thieves look at this worker's pools. `has_room()`:
  /// whether the window has room.
  template <std::predicate HasRoom, std::invocable<std::size_t, TaskPool&> Fill>
  LeaseOutcome lease_each(bool may_be_stolen, const HasRoom& has_room, const Fill& fill) noexcept {
    LeaseOutcome seen;
    // Begin with another pool each time: when all are busy, the buffer is full before the last one's turn.
    const std::size_t slots = owned_.used();
    first_ = first_ + 1 < slots ? first_ + 1 : 0;
    for (std::size_t turn = 0; turn < slots; ++turn) {
      const std::size_t shifted = first_ + turn;
      const std::size_t slot = shifted < slots ? shifted : shifted - slots;
      TaskPool* const pool = owned_.at(slot);
      if (pool != nullptr && lease(*pool, slot != 0 && may_be_stolen, has_room, seen)) {
        fill(slot, *pool);
        if (pool->idle()) {
          end(*pool, lease_state::own);
        }
      }
    }
    return seen;
  }

  /// Takes the lease of a ready pool of another worker and calls fill(pool), until that says true, and so on
  /// with the next one; where it says false, it has given the pool back. Returns whether a pool was stolen.
  template <std::predicate<TaskPool&> Fill>
  [[nodiscard]] bool steal_from(const OwnedPools& victim, const Fill& fill) noexcept {
    const std::size_t stealable = victim.used() - 1;  // the pinned pool is never taken
    for (std::size_t turn = 0; turn < stealable; ++turn) {
      TaskPool* const pool = victim.at(1 + (first_stolen_ + turn) % stealable);
      if (pool == nullptr || !pool->stealable() || !pool->take()) {
        continue;
      }
      take_stolen(*pool);
      if (fill(*pool)) {
        MXKV_DCHECK(stolen_ == pool, "what was filled from is still held");
        return true;
      }
      MXKV_ASSERT(stolen_ == nullptr, "what gave nothing was given back");
    }
    return false;
  }
  /// Steals from another pool first the next time.
  void next_theft() noexcept { ++first_stolen_; }
  /// Gives the stolen pool back. `ready`: tasks are left that were announced to no worker.
  struct Returned {
    TaskPool* pool;
    bool ready;
  };
  Returned return_stolen() noexcept {
    MXKV_ASSERT(stolen_ != nullptr, "a stolen pool is given back once");
    TaskPool& pool = *std::exchange(stolen_, nullptr);
    return {&pool, end(pool, lease_state::stolen)};
  }
  /// Whether no task of the stolen pool is left in the buffer; false where none is stolen.
  [[nodiscard]] bool stolen_ran() const noexcept { return stolen_ != nullptr && stolen_->in_buffer() == 0; }
  /// Whether a pool of another worker could be stolen.
  [[nodiscard]] static bool has_ready(const OwnedPools& victim) noexcept;

  /// An own pool is to get another owner. True: it is out of the slots, as is its lease, and may travel.
  /// False: not yet; no more of its tasks enter the buffer. `reserve()` finds a slot where it goes, or says
  /// that there is none: then it stays, and this is done with it.
  enum class departure : std::uint8_t { waits, left, stays };
  template <std::predicate Reserve>
  [[nodiscard]] departure depart(TaskPool& pool, const Reserve& reserve) noexcept {
    const std::size_t slot = owned_.find(pool);
    if (slot == 0 || slot == owned_.used()) {
      return departure::stays;
    }
    if (!end_last_term(pool)) {
      return departure::waits;
    }
    if (!reserve()) {
      return departure::stays;
    }
    owned_.remove(slot);
    return departure::left;
  }

  /// Whether the worker has to look at its own pools before it may park. Pools that a thief leases do not
  /// count: the thief tells the owner if tasks are left.
  [[nodiscard]] bool any_to_run() const noexcept;
  /// How many tasks of the pools that it leases are in the buffer.
  [[nodiscard]] std::uint32_t tasks_in_buffer() const noexcept;

 private:
  /// Whether an own pool may fill the buffer: its lease is held, from now or before.
  template <std::predicate HasRoom>
  [[nodiscard]] bool lease(TaskPool& pool, bool shared, const HasRoom& has_room,
                           LeaseOutcome& seen) noexcept {
    lease_state& leased = states_[pool.id().value()];
    if ((leased == lease_state::none && pool.state() != pool_state::ready) || &pool == leaving_ ||
        &pool == stolen_) {
      return false;
    }
    if (leased != lease_state::none) {
      if (!shared) {
        return true;
      }
      if (pool.in_buffer() != 0) {
        return false;
      }
      end(pool, lease_state::own);  // its term is over
    }
    if (pool.state() != pool_state::ready) {
      return false;
    }
    if (shared && seen.leased_one && !has_room()) {
      seen.left_one = seen.left_one || !pool.kept();
      return false;
    }
    if (!pool.take()) {
      return false;
    }
    leased = lease_state::own;
    seen.leased_one = seen.leased_one || shared;
    return true;
  }
  /// Gives a lease back that was taken so. Returns whether tasks are left that were announced to no worker.
  bool end(TaskPool& pool, lease_state taken_as) noexcept {
    lease_state& leased = states_[pool.id().value()];
    MXKV_ASSERT(leased == taken_as, "a lease is given back by its holder, as it was taken");
    leased = lease_state::none;
    return pool.give();
  }
  void take_stolen(TaskPool& pool) noexcept;
  [[nodiscard]] bool end_last_term(TaskPool& pool) noexcept;

  OwnedPools owned_;
  std::vector<lease_state> states_;  ///< by PoolId
  TaskPool* stolen_ = nullptr;       ///< leased when it was another worker's
  TaskPool* leaving_ = nullptr;      ///< to be given away: nothing is executed from it any more
  std::size_t first_ = 0;            ///< which own pool came first in the last visit
  std::size_t first_stolen_ = 0;     ///< which pool of a victim is looked at first
};

}  // namespace mxkv::runtime

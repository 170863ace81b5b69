// The writes of one connection commit in the order in which they were sent.
//
// Clients rely on this order ("payload, then pointer"), and two writes of one key need not wait for each
// other. Each write gets a sequence number when it starts. It may take effect when all writes before it have
// ended; until then its task is parked here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "server/reply/reply_address.hpp"
#include "server/reply/sparse_ring.hpp"

namespace mxkv::runtime {
class MxTask;
}

namespace mxkv::server {

/// Thread-safety: owner worker only.
class CommitOrder {
 public:
  explicit CommitOrder(BlockPool& pool) noexcept : waiting_(pool) {}

  /// Starts a write, and returns its number.
  [[nodiscard]] CommitSeq start() noexcept { return next_++; }
  /// Starts `writes` writes, and returns the first of their numbers, which follow each other.
  [[nodiscard]] CommitSeq start_row(std::size_t writes) noexcept {
    const CommitSeq first = next_;
    next_ += static_cast<CommitSeq>(writes);
    return first;
  }
  /// Takes back the last `writes` numbers, which were not used.
  void take_back(std::size_t writes) noexcept {
    MXKV_ASSERT(in_flight() >= writes, "only numbers of writes that did not end are taken back");
    next_ -= static_cast<CommitSeq>(writes);
  }
  /// Whether all writes before `seq` have ended.
  [[nodiscard]] bool is_turn(CommitSeq seq) const noexcept { return seq == turn_; }
  /// The write takes effect on this node; it is not forwarded to another.
  void note_here(CommitSeq seq) noexcept { here_end_ = seq + 1; }
  /// The number behind the last such write.
  [[nodiscard]] CommitSeq here_end() noexcept {
    if (has_ended(here_end_)) {
      here_end_ = turn_;  // so that it never lags by half the range of numbers
    }
    return here_end_;
  }
  /// Whether all writes before `end` have ended. `end` must lag by less than half the range of numbers.
  [[nodiscard]] bool has_ended(CommitSeq end) const noexcept {
    return static_cast<std::int32_t>(turn_ - end) >= 0;
  }
  /// Parks `task` until the turn of `seq`, which has not come.
  void park(CommitSeq seq, runtime::MxTask* task) {
    MXKV_ASSERT(!is_turn(seq) && task != nullptr, "a write whose turn has come does not wait");
    waiting_.put(seq, turn_, Entry{task, true});
  }
  /// Ends a write, committed or without effect. Returns the task whose turn has come, or null. A write
  /// without effect may end before its turn, unless it is parked.
  [[nodiscard]] runtime::MxTask* end(CommitSeq seq) {
    MXKV_ASSERT(in_flight() > 0, "a write ends once");
    if (seq != turn_) [[unlikely]] {
      waiting_.put(seq, turn_, Entry{nullptr, true});
      return nullptr;
    }
    ++turn_;
    return waiting_.empty() ? nullptr : next_in_turn();
  }
  /// Does end() if it is the turn of `seq` and no other write waits. False: nothing was done.
  [[nodiscard]] bool end_alone(CommitSeq seq) noexcept {
    if (seq != turn_ || !waiting_.empty()) [[unlikely]] {
      return false;
    }
    MXKV_ASSERT(in_flight() > 0, "a write ends once");
    ++turn_;
    return true;
  }
  /// Ends the writes `first` to `first + writes - 1`. It is the turn of `first`, and no other write has started.
  void end_row(CommitSeq first, std::size_t writes) noexcept {
    MXKV_ASSERT(is_turn(first) && in_flight() >= writes && waiting_.empty(), "a row ends in its turn");
    turn_ += static_cast<CommitSeq>(writes);
  }
  /// Calls f(task) for each parked task.
  template <class F>
  void for_each_parked(const F& f) {
    for (CommitSeq seq = turn_; seq != next_ && !waiting_.empty(); ++seq) {
      const Entry* const entry = waiting_.find(seq, turn_);
      if (entry != nullptr && entry->parked != nullptr) {
        f(entry->parked);
      }
    }
  }
  /// Number of writes that have started and not ended.
  [[nodiscard]] std::size_t in_flight() const noexcept { return next_ - turn_; }

 private:
  struct Entry {
    runtime::MxTask* parked = nullptr;  ///< null: ended before its turn
    bool used = false;
    friend bool operator==(const Entry& a, const Entry& b) noexcept { return a.used == b.used; }
  };

  [[nodiscard]] runtime::MxTask* next_in_turn() noexcept {
    while (waiting_.find(turn_, turn_) != nullptr) {
      if (runtime::MxTask* const task = waiting_.take(turn_).parked; task != nullptr) {
        return task;  // its turn; the next write's comes when this one ends
      }
      ++turn_;
    }
    return nullptr;
  }

  CommitSeq next_ = 0;
  CommitSeq turn_ = 0;
  CommitSeq here_end_ = 0;
  SparseRing<Entry> waiting_;
};

}  // namespace mxkv::server

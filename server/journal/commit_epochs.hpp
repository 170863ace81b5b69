// Commit epochs: which records reach the disk together, and how much of what a reader sees is there already.
//
// A record's *label* is the epoch that is current when it is appended. Closing epoch e makes e + 1 current.
// A worker's *seat* is an epoch at which it ended a round: whatever it records later has that label or a
// greater one. So when every seat is above e, or its worker is parked, all records of e are there.
//
// A record's *order* grows with each change of a key; its worker mints it above its *mint clock*, in the same
// round in which it appends the record. The *horizon* published with a durable epoch D is a number that no
// record with a label above D has an order below or at. Such a record was made in one of two ways.
// (a) Its round began after the worker saw current > D. It then saw the close time of D, and mints above it.
// (b) Its round began earlier, so that the seat moves past D when the round ends. The mint clock of that round
//     is the seat's limit, stored with the move; a round that recorded nothing behind the move has none.
// So the least of the close time and the limits of the seats at D + 1 is such a number. A parked worker does
// not count: unpark() makes it see the newest epoch, so that its next round is of kind (a). While D is judged
// no further epoch is closed, so that no seat is above D + 1.
//
// What it does not do: wait. end_round() and park() say when the closer has to be woken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"

namespace mxkv::server {

/// The epochs of one journal. Thread-safety: given per function.
class CommitEpochs {
 public:
  static constexpr std::uint64_t kNobodyWaits = ~std::uint64_t{0};  ///< a horizon above every order

  /// All epochs below `first_epoch` (at least 1) are durable, with all orders up to `horizon_us`. Every worker
  /// begins parked.
  CommitEpochs(std::size_t workers, std::uint64_t first_epoch, std::uint64_t horizon_us);

  // -- any thread

  /// The label of a record that is appended now. Relaxed: two records of one key are appended under one latch
  /// after the other, so that the later one reads the same or a greater epoch; see end_round() for the rest.
  [[nodiscard]] std::uint64_t current() const noexcept { return current_.load(std::memory_order_relaxed); }
  /// The word behind current(), for what loads it often.
  [[nodiscard]] const std::atomic<std::uint64_t>& current_word() const noexcept { return current_; }
  /// All records with labels up to it are on disk. Pairs with the release in publish_durable().
  [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  /// Whoever sees nothing of an order above it sees what is on disk; kNobodyWaits: no reader has to wait.
  [[nodiscard]] std::uint64_t horizon_us() const noexcept {
    return readers_wait_.load(std::memory_order_relaxed) ? horizon_us_.load(std::memory_order_acquire)
                                                         : kNobodyWaits;
  }
  /// Not below the label of any record whose effect the caller has seen: what a reply has to wait for.
  [[nodiscard]] std::uint64_t last_recorded() const noexcept {
    return last_recorded_.load(std::memory_order_acquire);  // pairs with note_recorded()
  }
  /// A record with this label is about to be appended, under the latch that makes its effect visible.
  void note_recorded(std::uint64_t label) noexcept;
  /// Whether horizon_us() shows the horizon; else it shows kNobodyWaits.
  void set_readers_wait(bool wait) noexcept { readers_wait_.store(wait, std::memory_order_relaxed); }

  // -- worker `worker` only

  /// A round begins at `now_us`; the worker is not parked. Returns its mint clock: never below an earlier one,
  /// never below the close time of an epoch below what current() shows to this round.
  [[nodiscard]] std::uint64_t begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept;
  /// The round ends. `epoch` is what current() was *before* the worker handed its records below it over; a
  /// second load could show a later epoch, and the closer would miss the records of this one. `recorded`: one
  /// of the worker's records has this label. Returns whether the closer has to be woken.
  [[nodiscard]] bool end_round(runtime::WorkerId worker, std::uint64_t epoch, bool recorded) noexcept;
  /// The worker handed all its records over and records nothing until unpark(). Whether the closer is to wake.
  [[nodiscard]] bool park(runtime::WorkerId worker) noexcept;
  void unpark(runtime::WorkerId worker) noexcept;

  // -- the closer, one thread

  /// Closes the current epoch, at `now_us` of the clock that workers mint by; all_passed() of the one before
  /// holds. Returns the epoch.
  std::uint64_t close(std::uint64_t now_us) noexcept;
  /// Whether no worker has to pass `epoch`, the last one closed, any more. From a `false` on, the worker that
  /// is the last to pass it is told to wake the closer.
  [[nodiscard]] bool await_passed(std::uint64_t epoch) noexcept;
  /// The horizon to publish with `epoch`: the last one closed, and passed by all.
  [[nodiscard]] std::uint64_t horizon_of(std::uint64_t epoch) const noexcept;
  /// Everything up to `epoch` is on disk. The horizon never goes back: what held for less holds for more.
  void publish_durable(std::uint64_t epoch, std::uint64_t horizon_us) noexcept;

 private:
  static constexpr std::uint64_t kParked = 1;

  struct alignas(2 * runtime::kCacheLineBytes) Seat {
    // Twice the epoch, and kParked. seq_cst: see end_round(), park() and unpark().
    std::atomic<std::uint64_t> word{kParked};
    // Least order, less one, of what was recorded with the seat's epoch in the round that moved it there.
    std::atomic<std::uint64_t> limit_us{kNobodyWaits};  // published by `word`
    std::uint64_t mint_us = 0;                          ///< its worker's
  };

  [[nodiscard]] Seat& seat(runtime::WorkerId worker) const noexcept { return seats_[worker.index()]; }
  [[nodiscard]] bool all_passed(std::uint64_t epoch) const noexcept;
  [[nodiscard]] bool last_to_pass() const noexcept;

  std::size_t workers_;
  std::unique_ptr<Seat[]> seats_;
  std::uint64_t last_close_us_;  ///< the closer's

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> current_;  // written by close() only
  std::atomic<std::uint64_t> close_us_;    // of the epoch before current_, which publishes it
  std::atomic<std::uint64_t> awaited_{0};  // epoch that the closer waits for; 0: none. Pairs with seats

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> horizon_us_;
  std::atomic<bool> readers_wait_{true};  // relaxed: a switch counts from some round on

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> last_recorded_;
};

}  // namespace mxkv::server

// Commit epochs: decide which records reach the disk together, and how much of a read is on disk already.
//
// A record's *label* is the epoch that is current when it is appended. Closing epoch e makes e + 1 current. A
// worker's *seat* is an epoch at which it ended a round: its later records have that label or a greater one.
// So when every seat is above e, or its worker is parked, all records of e are there.
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
// These classes do not wait: end_round() and park() say when the closer has to be woken.
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
  /// The word behind current(), for callers that load it often.
  [[nodiscard]] const std::atomic<std::uint64_t>& current_word() const noexcept { return current_; }
  /// All records with labels up to it are on disk. Pairs with the release in publish_durable().
  [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  /// A reader that has seen no order above it has seen only data on disk. kNobodyWaits: no reader of a round that
  /// begins at `now_us` has to wait.
  [[nodiscard]] std::uint64_t horizon_us(std::uint64_t now_us) const noexcept {
    return now_us < readers_free_us_.load(std::memory_order_relaxed)
               ? kNobodyWaits
               : horizon_us_.load(std::memory_order_acquire);
  }
  /// At least the label of every record whose effect the caller has seen. A reply waits for this epoch.
  [[nodiscard]] std::uint64_t last_recorded() const noexcept {
    return last_recorded_.load(std::memory_order_acquire);  // pairs with note_recorded()
  }
  /// Notes a record with this label before it is appended, under the latch that makes its effect visible.
  void note_recorded(std::uint64_t label) noexcept;
  /// Until `until_us` horizon_us() shows kNobodyWaits. 0: it always shows the horizon.
  void free_readers(std::uint64_t until_us) noexcept {
    readers_free_us_.store(until_us, std::memory_order_relaxed);
  }

  // -- worker `worker` only

  /// Begins a round at `now_us`; the worker is not parked. Returns its mint clock: never below an earlier
  /// one, never below the close time of an epoch below what current() shows to this round.
  [[nodiscard]] std::uint64_t begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept;
  /// Ends the round. `epoch`: the value of current() *before* the worker handed over its records below it; a
  /// second load could show a later epoch, and the closer would miss the records of this one. `recorded`: a
  /// record of the worker has this label. Returns whether the closer has to be woken.
  [[nodiscard]] bool end_round(runtime::WorkerId worker, std::uint64_t epoch, bool recorded) noexcept;
  /// The worker has handed over all its records and records nothing until unpark(). Whether the closer has to
  /// be woken.
  [[nodiscard]] bool park(runtime::WorkerId worker) noexcept;
  void unpark(runtime::WorkerId worker) noexcept;

  // -- the closer, one thread

  /// Closes the current epoch, at `now_us` of the clock that workers mint by; all_passed() of the one before
  /// holds. Returns the epoch.
  std::uint64_t close(std::uint64_t now_us) noexcept;
  /// Whether all workers have passed `epoch`, the last one closed. From a `false` on, the last worker to pass
  /// it is asked to wake the closer.
  [[nodiscard]] bool await_passed(std::uint64_t epoch) noexcept;
  /// The horizon to publish with `epoch`, which is the last one closed, and which all have passed.
  [[nodiscard]] std::uint64_t horizon_of(std::uint64_t epoch) const noexcept;
  /// All records up to `epoch` are on disk. The horizon never goes back: a bound for a smaller epoch holds
  /// for a greater.
  void publish_durable(std::uint64_t epoch, std::uint64_t horizon_us) noexcept;

 private:
  static constexpr std::uint64_t kParked = 1;

  struct alignas(2 * runtime::kCacheLineBytes) Seat {
    // Twice the epoch, and kParked. seq_cst: see end_round(), park() and unpark().
    std::atomic<std::uint64_t> word{kParked};
    // Least order, less one, of the records with the seat's epoch in the round that moved the seat there.
    std::atomic<std::uint64_t> limit_us{kNobodyWaits};  // published by `word`
    std::uint64_t mint_us = 0;                          ///< used by its worker only
  };

  [[nodiscard]] Seat& seat(runtime::WorkerId worker) const noexcept { return seats_[worker.index()]; }
  [[nodiscard]] bool all_passed(std::uint64_t epoch) const noexcept;
  [[nodiscard]] bool last_to_pass() const noexcept;

  std::size_t workers_;
  std::unique_ptr<Seat[]> seats_;
  std::uint64_t last_close_us_;  ///< used by the closer only

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> current_;  // written by close() only
  std::atomic<std::uint64_t> close_us_;    // of the epoch before current_, which publishes it
  std::atomic<std::uint64_t> awaited_{0};  // the epoch that the closer waits for; 0: none. Pairs with seats

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> horizon_us_;
  std::atomic<std::uint64_t> readers_free_us_{0};  // relaxed: a new value may take effect a round later

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> last_recorded_;
};

}  // namespace mxkv::server

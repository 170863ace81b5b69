#include "server/commit/commit_epochs.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

CommitEpochs::CommitEpochs(std::size_t workers, std::uint64_t first_epoch, std::uint64_t horizon_us)
    : workers_(workers),
      seats_(std::make_unique<Seat[]>(workers)),
      last_close_us_(horizon_us),
      current_(first_epoch),
      close_us_(horizon_us),
      durable_(first_epoch - 1),
      horizon_us_(horizon_us),
      last_recorded_(first_epoch - 1) {
  MXKV_ASSERT(first_epoch > 0, "epoch 0 is that of no record");
}

void CommitEpochs::note_recorded(std::uint64_t label) noexcept {
  // Release: what follows an effect that a reader saw, by the latch or its version, sees this store as well.
  std::uint64_t last = last_recorded_.load(std::memory_order_relaxed);
  while (last < label && !last_recorded_.compare_exchange_weak(last, label, std::memory_order_release,
                                                               std::memory_order_relaxed)) {
  }
}

std::uint64_t CommitEpochs::begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept {
  Seat& own = seat(worker);
  // Acquire, pairs with close(): a round that sees e + 1 as current sees the close time of e, or a later one.
  static_cast<void>(current_.load(std::memory_order_acquire));
  const std::uint64_t closed_us = close_us_.load(std::memory_order_relaxed);
  own.mint_us = std::max({own.mint_us, now_us, closed_us});
  return own.mint_us;
}

bool CommitEpochs::end_round(runtime::WorkerId worker, std::uint64_t epoch, bool recorded) noexcept {
  Seat& own = seat(worker);
  const std::uint64_t before = own.word.load(std::memory_order_relaxed);
  MXKV_DCHECK((before & kParked) == 0, "a parked worker has no rounds");
  if (before == epoch << 1U) [[likely]] {
    return false;
  }
  // Labels of this round are `epoch` at most, as they were loaded before it was; labels of the next round are
  // not below it. Only a record with this label can be of kind (b): it limits the horizon.
  own.limit_us.store(recorded ? own.mint_us : kNobodyWaits, std::memory_order_relaxed);
  // Release, for the limit and for the blocks that the worker sealed. seq_cst, against await_passed(): the
  // closer sees this seat, or this worker sees that it is awaited.
  own.word.store(epoch << 1U, std::memory_order_seq_cst);
  return last_to_pass();
}

bool CommitEpochs::park(runtime::WorkerId worker) noexcept {
  Seat& own = seat(worker);
  // As in end_round(). The epoch stays, and with it the limit: it may be the one that counts.
  own.word.store(own.word.load(std::memory_order_relaxed) | kParked, std::memory_order_seq_cst);
  return last_to_pass();
}

void CommitEpochs::unpark(runtime::WorkerId worker) noexcept {
  Seat& own = seat(worker);
  // The epoch stays until the first round ends: it is too small at worst, and the closer waits for the round.
  own.word.store(own.word.load(std::memory_order_relaxed) & ~kParked, std::memory_order_seq_cst);
  // Both sides store first and load then, all seq_cst. The closer sees the seat taken and waits for it; or it
  // saw it parked, and this load sees the epoch that it had made current. So does every later load of ours.
  static_cast<void>(current_.load(std::memory_order_seq_cst));
}

std::uint64_t CommitEpochs::close(std::uint64_t now_us) noexcept {
  last_close_us_ = std::max(last_close_us_, now_us);
  close_us_.store(last_close_us_, std::memory_order_relaxed);
  // Release for the close time; seq_cst against unpark(). No other thread writes it.
  return current_.fetch_add(1, std::memory_order_seq_cst);
}

bool CommitEpochs::all_passed(std::uint64_t epoch) const noexcept {
  for (std::size_t i = 0; i < workers_; ++i) {
    // seq_cst: against unpark(), and among workers that pass at the same time. Acquire: for what they sealed.
    const std::uint64_t word = seats_[i].word.load(std::memory_order_seq_cst);
    if ((word & kParked) == 0 && word >> 1U <= epoch) {
      return false;
    }
  }
  return true;
}

bool CommitEpochs::await_passed(std::uint64_t epoch) noexcept {
  MXKV_ASSERT(epoch + 1 == current(), "the last epoch that was closed is awaited");
  awaited_.store(epoch, std::memory_order_seq_cst);
  if (!all_passed(epoch)) {
    return false;
  }
  awaited_.store(0, std::memory_order_relaxed);  // a worker that still sees it wakes the closer in vain
  return true;
}

bool CommitEpochs::last_to_pass() const noexcept {
  // Of two workers that pass at the same time, at least one sees both seats: all are seq_cst.
  const std::uint64_t awaited = awaited_.load(std::memory_order_seq_cst);
  return awaited != 0 && all_passed(awaited);
}

std::uint64_t CommitEpochs::horizon_of(std::uint64_t epoch) const noexcept {
  MXKV_ASSERT(epoch + 1 == current(), "the horizon is that of the last epoch that was closed");
  std::uint64_t horizon = last_close_us_;
  for (std::size_t i = 0; i < workers_; ++i) {
    // Acquire, pairs with end_round(). A seat that moves there only now belongs to a worker that was parked:
    // its limit is not below the close time.
    if (seats_[i].word.load(std::memory_order_acquire) >> 1U == epoch + 1) {
      horizon = std::min(horizon, seats_[i].limit_us.load(std::memory_order_relaxed));
    }
  }
  return horizon;
}

void CommitEpochs::publish_durable(std::uint64_t epoch, std::uint64_t horizon_us) noexcept {
  MXKV_ASSERT(epoch >= durable() && epoch < current(), "what is durable is closed, and stays durable");
  horizon_us_.store(std::max(horizon_us_.load(std::memory_order_relaxed), horizon_us),
                    std::memory_order_release);
  durable_.store(epoch, std::memory_order_release);
}

}  // namespace mxkv::server

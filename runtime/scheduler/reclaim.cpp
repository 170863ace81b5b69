// A worker's epochs and reclamation: when it publishes, when it advances, and how much it frees [Mx 4.4].
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

/// Most objects freed per round, so that a large list does not delay replies.
constexpr std::size_t kReclaimPerRound = 4096;

}  // namespace

void Worker::run_each_in_epoch(std::uint64_t executed) noexcept {
  while (executed_ < executed && !buffer_.empty()) {
    epochs_.enter(id_);
    run_until(executed_ + 1);
    epochs_.leave(id_);
  }
  epochs_.enter(id_);  // what is not a task, such as a poller's turn, is in an epoch, too
}

void Worker::run_look(std::uint64_t executed) noexcept {
  if (epoch_mode_ == epoch_mode::task) [[unlikely]] {
    run_each_in_epoch(executed);
  } else {
    run_until(executed);
  }
}

void Worker::maintain() {
  items_.collect();
  nodes_.collect();
  if (retired_.empty() || epoch_mode_ == epoch_mode::off) {
    return;
  }
  const EpochOptions& options = runtime_.options().epoch;
  const std::uint64_t interval_ns = std::uint64_t{options.interval_ms} * 1'000'000;
  if (now_ns_ - last_advance_ns_ >= interval_ns || retired_.bytes_since_advance() >= options.advance_bytes) {
    epochs_.try_advance();
    retired_.reset_bytes();
    last_advance_ns_ = now_ns_;
  }
  reclaim(kReclaimPerRound);
}

void Worker::reclaim(std::size_t most) {
  const std::uint64_t now = epochs_.current();
  if (now == reclaimed_epoch_) {
    return;
  }
  const std::size_t freed = retired_.reclaim(epochs_.horizon(), most, runtime_.reclaim_functions(), *this);
  counters_.reclaimed.store(counters_.reclaimed.load(std::memory_order_relaxed) + freed,
                            std::memory_order_relaxed);
  if (freed < most) {
    reclaimed_epoch_ = now;  // nothing more to find until the epoch moves
  }
}

void Worker::reclaim_now() {
  if (epoch_mode_ == epoch_mode::off) {
    return;
  }
  // An object retired in this epoch is stamped with the next one and goes when the horizon is above that.
  for (int advance = 0; advance < 2; ++advance) {
    epochs_.try_advance();
    epochs_.enter(id_);
  }
  reclaimed_epoch_ = 0;
  reclaim(~std::size_t{0});
  items_.collect();
  nodes_.collect();
}

}  // namespace mxkv::runtime

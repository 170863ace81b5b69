#include "runtime/scheduler/reclaimer.hpp"

namespace mxkv::runtime {

bool Reclaimer::tick(std::uint64_t now_ns) noexcept {
  if (retired_.empty() || options_.mode == epoch_mode::off) {
    return false;
  }
  const std::uint64_t interval_ns = std::uint64_t{options_.interval_ms} * 1'000'000;
  if (now_ns - advanced_ns_ >= interval_ns || retired_.bytes_since_advance() >= options_.advance_bytes) {
    epochs_.try_advance();
    retired_.reset_bytes();
    advanced_ns_ = now_ns;
  }
  publish_bytes();
  return epochs_.current() != reclaimed_epoch_;
}

void Reclaimer::begin(run kind, const ReclaimFunction* functions, Worker& worker) {
  withdraw(kind);
  count(counters_.reclaims);
  count(counters_.urgent_reclaims, kind == run::urgent ? 1 : 0);
  if (epochs_.current() != reclaimed_epoch_) {
    reclaim(kMostPerRun, functions, worker);
  }
}

void Reclaimer::run_now(const ReclaimFunction* functions, Worker& worker) {
  if (options_.mode == epoch_mode::off) {
    return;
  }
  // An object retired in this epoch is stamped with the next one and goes when the horizon is above that.
  for (int advance = 0; advance < 2; ++advance) {
    epochs_.try_advance();
    epochs_.enter(worker_);
  }
  reclaim(kMostPerRun, functions, worker);
}

void Reclaimer::drain_stopped(const ReclaimFunction* functions, Worker& worker) {
  while (!retired_.empty()) {
    retired_.reclaim(EpochManager::kInfinity, ReclaimBound::none(), functions, worker);
  }
  publish_bytes();
  MXKV_ASSERT(retired_.bytes() == 0, "what an empty list was given came back");
}

void Reclaimer::reclaim(ReclaimBound most, const ReclaimFunction* functions, Worker& worker) {
  const std::uint64_t now = epochs_.current();
  const std::uint64_t horizon = epochs_.horizon();
  count(counters_.reclaimed, retired_.reclaim(horizon, most, functions, worker));
  publish_bytes();
  if (!retired_.any_below(horizon)) {
    reclaimed_epoch_ = now;
  }
}

void Reclaimer::publish_bytes() noexcept {
  const std::size_t before = counters_.retired_bytes.load(std::memory_order_relaxed);
  account_.note_retired(before, retired_.bytes());
  counters_.retired_bytes.store(retired_.bytes(), std::memory_order_relaxed);
}

}  // namespace mxkv::runtime

// A worker's epochs and reclamation: when it publishes, when it advances, and how much it frees [Mx 4.4].
//
// Reclamation is a task. A worker spawns one for itself when something is retired and the epoch moved since
// it last looked; it frees at most kReclaimPerRun objects, and the next one goes on. It has low priority: it
// runs where the window has room. A window that is never short of other tasks would starve it, so when more
// bytes wait than kUrgentAdvances epochs bring, one of high priority goes straight into the buffer. What is
// retired and old enough thus stays bounded under any load. At most one task of each kind waits. Memory that
// ran out is not waited for: reclaim_now() frees inside the task that needs it.
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

/// Most objects freed by a task, so that a large list does not delay replies.
constexpr std::size_t kReclaimPerRun = 4096;
/// Retired bytes, in EpochOptions::advance_bytes: those of the epoch before are not to be freed yet and those
/// of the current one are still growing.
constexpr std::size_t kUrgentAdvances = 3;

}  // namespace

/// Frees what its worker retired. Free and without a place, so it runs where it was spawned.
class Worker::ReclaimTask final : public MxTask {
 public:
  static constexpr const char* kName = "reclaim";

  ReclaimTask(const TaskClass* task_class, bool urgent) noexcept : MxTask(task_class), urgent_(urgent) {
    annotate(urgent ? priority::high : priority::low);
  }
  runtime::step execute(Worker& worker) {
    worker.reclaim_waits_[urgent_ ? 1 : 0] = false;
    count(worker.counters_.reclaims);
    count(worker.counters_.urgent_reclaims, urgent_ ? 1 : 0);
    if (worker.epochs_.current() != worker.reclaimed_epoch_) {
      worker.reclaim(kReclaimPerRun);
    }
    return runtime::step::done;
  }
  void discard(Worker& worker) noexcept { worker.reclaim_waits_[urgent_ ? 1 : 0] = false; }

 private:
  bool urgent_;
};

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

// Returns whether there is a task to run now.
bool Worker::maintain() {
  runtime_.rebalancer().look(*this, now_ns_);
  items_.collect();
  nodes_.collect();
  if (retired_.empty() || epoch_mode_ == epoch_mode::off) {
    return false;
  }
  const EpochOptions& options = runtime_.options().epoch;
  const std::uint64_t interval_ns = std::uint64_t{options.interval_ms} * 1'000'000;
  if (now_ns_ - last_advance_ns_ >= interval_ns || retired_.bytes_since_advance() >= options.advance_bytes) {
    epochs_.try_advance();
    retired_.reset_bytes();
    last_advance_ns_ = now_ns_;
  }
  counters_.retired_bytes.store(retired_.bytes(), std::memory_order_relaxed);
  return epochs_.current() != reclaimed_epoch_ && spawn_reclaim();
}

bool Worker::spawn_reclaim() {
  const bool urgent = retired_.bytes() >= kUrgentAdvances * runtime_.options().epoch.advance_bytes;
  // A usual one that finds no room now comes in a later round: a list that is never empty costs every task
  // a look.
  if (reclaim_waits_[urgent ? 1 : 0] ||
      (!urgent && (!ready_.empty() || buffer_.room() == 0 || own_locality_waits()))) {
    return false;
  }
  reclaim_waits_[urgent ? 1 : 0] = true;
  spawn_here(create<ReclaimTask>(urgent));
  return true;
}

void Worker::reclaim(std::size_t most) {
  const std::uint64_t now = epochs_.current();
  const std::size_t freed = retired_.reclaim(epochs_.horizon(), most, runtime_.reclaim_functions(), *this);
  count(counters_.reclaimed, freed);
  counters_.retired_bytes.store(retired_.bytes(), std::memory_order_relaxed);
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
  reclaim(~std::size_t{0});
  items_.collect();
  nodes_.collect();
}

}  // namespace mxkv::runtime

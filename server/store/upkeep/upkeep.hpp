// The store's own work: it sweeps and counts expired items, empties sparse spans, and makes room when memory
// runs short.
#pragma once

#include <atomic>
#include <deque>

#include "runtime/scheduler/worker.hpp"
#include "server/store/upkeep/defragmenter.hpp"
#include "server/store/upkeep/eviction.hpp"
#include "server/store/upkeep/expired_present.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"

namespace mxkv::server {

struct UpkeepOptions {
  bool defragments = true;  ///< moves items out of sparse spans
  bool evicts = false;      ///< makes room when memory runs short
};

/// One per store. Thread-safety: any worker; the reading functions of its parts: any thread.
class Upkeep {
 public:
  /// Start-up only: the workers' contexts refer to this object from then on.
  Upkeep(StoreState& store, std::size_t workers, const UpkeepOptions& options);
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  /// Each worker calls it in every round.
  void tick(runtime::Worker& worker) {
    sweep_.tick(worker);
    expired_present_.tick(worker);
    MXKV_DCHECK(worker.id().index() < workers_.size(), "each worker has a part of its own");
    PerWorker& own = workers_[worker.id().index()];
    if (defragments()) {
      own.defragmenter.tick(store_, worker);
    }
    if (evicts()) {
      own.eviction.tick(store_, worker);
    }
  }
  /// Call this when an allocation of this worker was refused. True: room is being made, so try again in the
  /// next round.
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what = shortage::block) noexcept {
    return evicts() && workers_[worker.id().index()].eviction.refused(worker, what);
  }

  /// Takes effect for work that begins later.
  void set_options(const UpkeepOptions& options) noexcept {
    defragments_.store(options.defragments, std::memory_order_relaxed);
    evicts_.store(options.evicts, std::memory_order_relaxed);
  }
  [[nodiscard]] bool defragments() const noexcept { return defragments_.load(std::memory_order_relaxed); }
  /// Whether room is made when memory runs short.
  [[nodiscard]] bool evicts() const noexcept { return evicts_.load(std::memory_order_relaxed); }

  [[nodiscard]] ExpirySweep& sweep() noexcept { return sweep_; }
  [[nodiscard]] const ExpirySweep& sweep() const noexcept { return sweep_; }
  [[nodiscard]] const ExpiredPresent& expired_present() const noexcept { return expired_present_; }

 private:
  struct PerWorker {
    explicit PerWorker(EvictionShared& shared) noexcept : eviction(shared) {}
    Defragmenter defragmenter;
    Eviction eviction;
  };

  StoreState& store_;
  // Relaxed: they order nothing.
  std::atomic<bool> defragments_;
  std::atomic<bool> evicts_;
  ExpirySweep sweep_{store_};
  ExpiredPresent expired_present_{store_, sweep_};
  EvictionShared eviction_;
  std::deque<PerWorker> workers_;
};

}  // namespace mxkv::server

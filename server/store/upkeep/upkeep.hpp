// The store's own work: it sweeps and counts expired items, merges thinned leaves, empties sparse spans, and makes
// room when memory runs short.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "runtime/scheduler/worker.hpp"
#include "server/store/upkeep/defragmenter.hpp"
#include "server/store/upkeep/eviction.hpp"
#include "server/store/upkeep/expired_present.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"
#include "server/store/upkeep/ghosts.hpp"
#include "server/store/upkeep/leaf_merger.hpp"
#include "server/store/upkeep/quota_eviction.hpp"
#include "server/store/upkeep/reclaim_passes.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::server {

struct UpkeepOptions {
  bool defragments = true;  ///< moves items out of sparse spans
  bool evicts = false;      ///< makes room when memory runs short
  bool weighs_size = true;  ///< large items make room first, because requests count and not bytes
  std::uint32_t merge_after = LeafMerger::kLeastRemoved;  ///< fewest removals; read at start-up
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
    merger_.tick(worker);
    MXKV_DCHECK(worker.id().index() < workers_.size(), "each worker has a part of its own");
    PerWorker& own = workers_[worker.id().index()];
    passes_.tick(worker);
    if (quotas_ != nullptr) {
      own.quota_look.tick(*quotas_, worker);
    }
    if (defragments()) {
      own.defragmenter.tick(store_, worker);
    }
    if (evicts()) {
      own.eviction.tick(store_, worker);
    }
  }
  /// Call this before many writes, if there are quotas: looks at the limits if this worker has put much.
  void mind_quotas(runtime::Worker& worker) {
    if (worker.local<WorkerContext>().quotas->has_put_much()) [[unlikely]] {
      quotas_->look(worker);
    }
  }
  /// Call this when an allocation of this worker was refused. True: room is being made, so try again in the
  /// next round, with the same `wait`. Where nothing may be evicted: memory that was freed is on its way back, or lies
  /// in fragments that are gathered. A request waits for that for some seconds at most.
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what, RoomWait& wait) noexcept {
    return evicts() ? workers_[worker.id().index()].eviction.refused(worker, what)
                    : waits_for_freed(worker, wait);
  }

  /// Takes effect for work that begins later.
  void set_options(const UpkeepOptions& options) noexcept {
    defragments_.store(options.defragments, std::memory_order_relaxed);
    evicts_.store(options.evicts, std::memory_order_relaxed);
    eviction_.weighs_size.store(options.weighs_size, std::memory_order_relaxed);
    if (!options.evicts) {
      ghosts_.fit(0);
    }
  }
  [[nodiscard]] bool defragments() const noexcept { return defragments_.load(std::memory_order_relaxed); }
  /// Whether room is made when memory runs short.
  [[nodiscard]] bool evicts() const noexcept { return evicts_.load(std::memory_order_relaxed); }

  /// Whether large items make room before small ones.
  [[nodiscard]] bool weighs_size() const noexcept {
    return eviction_.weighs_size.load(std::memory_order_relaxed);
  }

  [[nodiscard]] Ghosts& ghosts() noexcept { return ghosts_; }
  [[nodiscard]] ExpirySweep& sweep() noexcept { return sweep_; }
  [[nodiscard]] const ExpirySweep& sweep() const noexcept { return sweep_; }
  [[nodiscard]] const ExpiredPresent& expired_present() const noexcept { return expired_present_; }

 private:
  /// What a worker knows of freed memory that its requests wait for.
  struct FreedMemory {
    static constexpr std::uint64_t kNoRound = ~std::uint64_t{0};
    std::uint32_t pass = 0;                  ///< the last one that it asked for; 0: none
    std::uint64_t freed = 0;                 ///< sign of all that was freed before it asked
    std::uint64_t next_wake_ns = 0;          ///< when parked workers are woken again
    std::uint64_t gathers_since_ns = 0;      ///< a request waits for fragments since then, without a break
    std::uint64_t gathers_last_ns = 0;       ///< when one last asked; 0: there were none to gather
    std::uint64_t tears_since_ns = 0;        ///< a request waits for a cleared tree since then; 0: none waits
    std::uint64_t refused_round = kNoRound;  ///< in which a request was last refused at once
    std::uint64_t refused_freed = 0;         ///< sign of what this worker alone had freed then
  };
  struct PerWorker {
    PerWorker(EvictionShared& shared, ReclaimPasses& passes) noexcept
        : defragmenter(passes), eviction(shared) {}
    Defragmenter defragmenter;
    Eviction eviction;
    QuotaLook quota_look;
    FreedMemory freed;
  };

  [[nodiscard]] bool waits_for_freed(runtime::Worker& worker, RoomWait& wait) noexcept;
  [[nodiscard]] bool begins_to_wait(runtime::Worker& worker, RoomWait& wait) noexcept;
  [[nodiscard]] std::uint32_t pass_for_all(runtime::Worker& worker) noexcept;
  [[nodiscard]] bool gathers(runtime::Worker& worker) noexcept;
  [[nodiscard]] bool waits_for_teardown(runtime::Worker& worker) noexcept;
  [[nodiscard]] std::uint64_t freed_sign() const noexcept;

  StoreState& store_;
  // Relaxed: they order nothing.
  std::atomic<bool> defragments_;
  std::atomic<bool> evicts_;
  ExpirySweep sweep_{store_};
  ExpiredPresent expired_present_{store_, sweep_};
  LeafMerger merger_;
  EvictionShared eviction_;
  Ghosts ghosts_;
  std::unique_ptr<QuotaEviction> quotas_;  ///< null: the store has no quotas
  ReclaimPasses passes_;
  std::deque<PerWorker> workers_;
};

}  // namespace mxkv::server

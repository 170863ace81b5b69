// The state that store tasks use on the worker where they run: Worker::local<WorkerContext>(). It names the wings of
// the store only as pointers.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "index/commit_point.hpp"
#include "server/store/core/counters.hpp"
#include "server/store/core/flush_points.hpp"
#include "server/store/core/place_counters.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

struct RangeLocks;
class ConnectionTable;
class ExpirySweep;
class Ghosts;
class OwnerReads;
class QuotaTally;
class ReadOffers;
class StoreState;
class Upkeep;
class WatchHub;

/// One a worker. Owner worker only, but for reading the counters.
struct WorkerContext {
  static constexpr std::uint64_t kNoHorizon = ~std::uint64_t{0};

  StoreState* store = nullptr;
  RangeLocks* locks = nullptr;                                    ///< the store's
  const FlushPoints* flush_points = nullptr;                      ///< the store's
  const index::CommitPoint<std::string_view>* commits = nullptr;  ///< of the store's tree
  ConnectionTable* replies = nullptr;
  WatchHub* watch = nullptr;         ///< the store's
  Happenings* happenings = nullptr;  ///< the store's; null: events are not reported
  Upkeep* upkeep = nullptr;          ///< the store's
  ExpirySweep* sweep = nullptr;
  Ghosts* ghosts = nullptr;           ///< the store's
  OwnerReads* owner_reads = nullptr;  ///< null: no item here is a copy
  QuotaTally* quotas = nullptr;       ///< null: the store has no quotas
  StoreCounters counters;
  std::atomic<std::uint64_t> greatest_order{0};  ///< minted here so far; one writer
  /// Orders are minted above this, and above the round's time. Set once a round by a caller that never lowers
  /// it; 0: no bound.
  std::uint64_t mint_us = 0;
  /// Changes up to this order are on disk; kNoHorizon: reads need not wait. Set once a round, as are the next
  /// two.
  std::uint64_t horizon_us = kNoHorizon;
  const char* refusal = nullptr;  ///< why changes are refused now; null: they are not. See refuse_changes()
  bool applies = false;      ///< changes that pass the commit point now were read from the log of other nodes
  bool writes_wait = false;  ///< replies to commands that may have written may have to wait for the disk
  bool quota_near_limit = false;  ///< writes to some quota may be refused. See note_quota_near_limit()
  bool minds_writes = false;  ///< writes have to be looked at: there is a refusal, or a quota near its limit

  void note(happening what) noexcept {
    if (happenings != nullptr) {
      happenings->note(what);
    }
  }
  /// Null: changes are not refused.
  void refuse_changes(const char* reason) noexcept {
    refusal = reason;
    minds_writes = reason != nullptr || quota_near_limit;
  }
  void note_quota_near_limit(bool is_near) noexcept {
    quota_near_limit = is_near;
    minds_writes = refusal != nullptr || is_near;
  }
  void count_no_memory() noexcept {
    counters.count(counter::store_no_memory);
    note(happening::no_memory);
  }
  [[nodiscard]] bool minds_horizon() const noexcept { return horizon_us != kNoHorizon; }
  /// The earliest expiry (steady s) stored here that no sweep has seen yet. Relaxed, see expiry_sweep.cpp.
  std::atomic<std::uint32_t> first_expiry{std::numeric_limits<std::uint32_t>::max()};
  std::unique_ptr<PlaceCounters> places;  ///< null: there is only one NUMA node
};

}  // namespace mxkv::server

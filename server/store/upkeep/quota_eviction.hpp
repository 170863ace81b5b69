// Enforces the limits of quotas (core/quotas.hpp). Items of a quota above its limit make room, or writes to it are
// refused.
//
// Each worker publishes its changes every millisecond. If the charge is above the limit then, the worker begins a walk
// over the leaves of the prefix, from where the last walk of that quota stopped. As eviction does, the walk removes
// the items among the worst tenth of those it meets; each quota has scores of its own (eviction_scores.hpp). So a
// quota's charge exceeds its limit by the writes of some milliseconds, and no items of others make room for that. Near
// the limit a walk that removes nothing learns the scores. It stops when the limit is reached.
//
// While a cleared tree is taken apart, its items still count: then no limit holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/scheduler/worker.hpp"
#include "server/store/core/quotas.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/upkeep/eviction.hpp"
#include "server/store/upkeep/eviction_scores.hpp"

namespace mxkv::server {

class QuotaEviction;

/// One a worker: when it looks at the quotas. Thread-safety: owner worker only.
class QuotaLook {
 public:
  /// Call it in every round; it looks every millisecond.
  void tick(QuotaEviction& quotas, runtime::Worker& worker);

 private:
  std::uint64_t next_ns_ = 0;
};

/// One a store. Thread-safety: any worker. A quota's hand is its walk's, of which there is one at a time.
class QuotaEviction {
 public:
  QuotaEviction(StoreState& store, const EvictionShared& eviction);

  /// Publishes the worker's changes, and begins walks for quotas above their limits.
  void look(runtime::Worker& worker);

  /// What a walk of one quota knows. The quota's walk only; `walks` by any worker.
  struct Hand {
    std::atomic<bool> walks{false};  ///< acquire and release: hands all the rest from walk to walk
    bool learns = false;             ///< the walk notes scores, and removes nothing
    bool learnt = false;             ///< a walk has noted scores
    std::uint64_t learnt_at = 0;     ///< quota_count::sets at the end of the last walk
    bool whole_lap = false;          ///< the walk began at the first key
    bool weighs_size = true;
    int fruitless_laps = 0;     ///< in a row
    std::uint64_t missing = 0;  ///< bytes that the walk still has to remove
    /// The walk's removals have ended when the store has ended so many background writes.
    std::uint64_t settled_at = 0;
    std::unique_ptr<EvictionScores> scores;
    HeldKey key;  ///< where the walk goes on; empty: at the first key
  };
  [[nodiscard]] Hand& hand(std::size_t quota) noexcept { return hands_[quota]; }
  [[nodiscard]] const Quotas& quotas() const noexcept { return quotas_; }
  /// Whether an item that a walk meets has to go.
  [[nodiscard]] bool removes(std::size_t quota, const Item& item, std::uint64_t now_us) noexcept;
  /// Whether a walk that learns has to end, because the limit was reached.
  [[nodiscard]] bool learnt_enough(std::size_t quota) noexcept;
  /// The walk has ended, at this key or behind the last one (empty).
  void ended(std::size_t quota, std::string_view key) noexcept;

 private:
  void begin(std::size_t quota, std::uint64_t charge, runtime::Worker& worker);
  [[nodiscard]] std::uint64_t sets(std::size_t quota) const noexcept {
    return quotas_.total(quota, quota_count::sets);
  }
  [[nodiscard]] bool prepare(std::size_t quota, std::uint64_t charge, runtime::Worker& worker);

  StoreState& store_;
  Quotas& quotas_;
  const EvictionShared& eviction_;
  std::unique_ptr<Hand[]> hands_;
};

}  // namespace mxkv::server

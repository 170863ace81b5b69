// Enforces the limits of quotas (core/quotas.hpp). Items of a quota above its limit make room, or writes to it are
// refused.
//
// Each worker publishes its changes every millisecond, and sooner when it has put much (QuotaTally). If the charge is
// above the limit then, the worker begins a walk over the leaves of the prefix, from where the last walk of that quota
// stopped. As eviction does, the walk removes the items among the worst tenth of those it meets; each quota has scores of
// its own (eviction_scores.hpp). So a quota's charge exceeds its limit by the writes of some milliseconds, and no items of
// others make room for that. Near the limit a walk that removes nothing learns the scores. It stops when the limit is
// reached.
//
// A quota that refuses writes is exact for its worker: near the limit each write is looked at when it is decided.
//
// While a cleared tree is taken apart, its items still count: then no limit holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "runtime/scheduler/worker.hpp"
#include "server/store/core/quotas.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/upkeep/eviction_scores.hpp"
#include "server/store/upkeep/walk_hand.hpp"

namespace mxkv::server {

class QuotaEviction;

/// One a worker: when it looks at the quotas. Thread-safety: owner worker only.
class QuotaLook {
 public:
  /// Call it in every round; it looks every millisecond, and when the worker has put much.
  void tick(QuotaEviction& quotas, runtime::Worker& worker);

 private:
  std::uint64_t next_ns_ = 0;
};

/// What the walks of one quota know, of which there is one at a time. Thread-safety: any worker begins a walk; the rest
/// belongs to the walk.
class QuotaHand final : public WalkHand {
 public:
  static constexpr const char* kWalk = "walk of a quota";
  static constexpr unsigned kItemLines = 2;  // with the key's prefix

  QuotaHand(StoreState& store, std::size_t quota) noexcept
      : store_(store), quotas_(*store.quotas()), quota_(quota) {}

  /// Begins a walk if none is under way, and there is something to learn or to remove.
  void begin(std::uint64_t charge, runtime::Worker& worker);

  // For the walk, see eviction_walk.hpp.

  [[nodiscard]] walk_verdict judge(const Item& item, runtime::Worker& worker) noexcept;
  [[nodiscard]] bool started(std::size_t bytes) noexcept { return removes(bytes + kBesideItem) || learns_; }
  void ended(std::string_view key, runtime::Worker& worker) noexcept;

 private:
  [[nodiscard]] std::string_view prefix() const noexcept { return quotas_.prefixes().at(quota_); }
  [[nodiscard]] std::uint64_t sets() const noexcept { return quotas_.total(quota_, quota_count::sets); }
  [[nodiscard]] bool prepare(std::uint64_t charge, runtime::Worker& worker);

  StoreState& store_;
  Quotas& quotas_;
  std::size_t quota_;
  std::atomic<bool> walks_{false};  ///< acquire and release: hands all the rest from walk to walk
  bool learns_ = false;             ///< the walk notes scores, and removes no live item
  bool learnt_ = false;             ///< a walk has noted scores
  std::uint64_t learnt_at_ = 0;     ///< quota_count::sets at the end of the last walk
  /// The walk's removals have ended when the store has ended so many background writes.
  std::uint64_t settled_at_ = 0;
  std::unique_ptr<EvictionScores> scores_;
};

/// One a store. Thread-safety: any worker.
class QuotaEviction {
 public:
  explicit QuotaEviction(StoreState& store);

  /// Publishes the worker's changes, and begins walks for quotas above their limits.
  void look(runtime::Worker& worker);

 private:
  StoreState& store_;
  Quotas& quotas_;
  std::deque<QuotaHand> hands_;
};

}  // namespace mxkv::server

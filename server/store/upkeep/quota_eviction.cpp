#include "server/store/upkeep/quota_eviction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/paths.hpp"
#include "server/store/core/neighbour_keys.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/later_task.hpp"

namespace mxkv::server {

namespace {

using runtime::step;

constexpr std::uint64_t kQuotaLookNs = 1'000'000;
/// A walk removes this part of the limit more than it has to, so that the next one is not needed at once.
constexpr std::uint64_t kQuotaSlackPart = 64;
/// Scores are learnt when less than this part of the limit is left.
constexpr std::uint64_t kNearLimitPart = 8;
/// And anew when values for this part of the items were stored since the last walk.
constexpr std::uint64_t kRenewedItemsPart = 4;
/// The part of the items met that is removed. Each walk over all items that finds too little doubles it; after
/// kMostQuotaLaps of them, a walk removes what it meets.
constexpr double kQuotaPart = 0.1;
constexpr int kMostQuotaLaps = 4;

/// Walks over the items of a quota until enough removals were started, or to the end of its prefix.
class QuotaWalk final : public index::ScanTask<QuotaWalk, ItemTraits> {
  using Base = index::ScanTask<QuotaWalk, ItemTraits>;

 public:
  static constexpr const char* kName = "walk of a quota";

  QuotaWalk(const runtime::TaskClass* task_class, ItemTree& tree, QuotaEviction& eviction,
            std::size_t quota) noexcept
      : Base(task_class, tree), eviction_(eviction), quota_(quota) {
    const std::string_view from = eviction.hand(quota).key.view();
    set_key(from.empty() ? prefix() : from);
  }

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] bool backward() const noexcept { return false; }
  bool visit(std::uint64_t /*head*/, std::uint64_t value, runtime::Worker& worker) {
    const Item& item = *ItemRecord::item(value);
    const std::string_view key = item.key();
    if (!key.starts_with(prefix())) {
      stop_ = stop::at_end;
      return false;
    }
    if (pace_.is_too_fast(worker)) [[unlikely]] {
      set_key(key);
      stop_ = stop::pauses;
      return false;
    }
    if (const std::size_t other = eviction_.quotas().prefixes().find(key); other != quota_) [[unlikely]] {
      MXKV_PATH(quota_skips_inner);
      KeyRoom room;
      const std::string_view behind = behind_prefix(eviction_.quotas().prefixes().at(other), room);
      stop_ = behind.empty() ? stop::at_end : stop::skips;
      set_key(behind);
      return false;
    }
    if (is_live(item, worker) && !eviction_.removes(quota_, item, worker.now_us())) {
      return true;
    }
    QuotaEviction::Hand& hand = eviction_.hand(quota_);
    if (hand.learns) {
      if (!eviction_.learnt_enough(quota_)) {
        return true;
      }
    } else {
      pace_.started();
      start_eviction(worker, value);
      const std::uint64_t freed = item.memory_bytes() + kBesideItem;
      hand.missing -= std::min(hand.missing, freed);
      if (hand.missing > 0) {
        return true;
      }
    }
    set_key(key);
    stop_ = stop::enough;
    return false;
  }
  step finished(bool exhausted, runtime::Worker& worker) {
    switch (exhausted ? stop::at_end : std::exchange(stop_, stop::none)) {
      case stop::skips:
        return this->rescan(worker);
      case stop::pauses: {
        eviction_.hand(quota_).key.set(key());
        auto* const rest = worker.create<QuotaWalk>(this->tree(), eviction_, quota_);
        worker.spawn(worker.create<LaterTask<QuotaWalk>>(*rest));
        return step::done;
      }
      case stop::enough:
        eviction_.ended(quota_, key());
        return step::done;
      case stop::at_end:
        eviction_.ended(quota_, {});
        return step::done;
      case stop::none:
        break;
    }
    MXKV_ASSERT(false, "a walk stops for a reason");
  }

 private:
  enum class stop : std::uint8_t { none, enough, pauses, skips, at_end };
  [[nodiscard]] std::string_view prefix() const noexcept { return eviction_.quotas().prefixes().at(quota_); }

  QuotaEviction& eviction_;
  std::size_t quota_;
  WalkPace pace_;
  stop stop_ = stop::none;
  HeldKey key_;
};

static_assert(sizeof(QuotaWalk) <= runtime::kLargestTaskBytes);

}  // namespace

void QuotaLook::tick(QuotaEviction& quotas, runtime::Worker& worker) {
  if (worker.now_ns() >= next_ns_) [[unlikely]] {
    next_ns_ = worker.now_ns() + kQuotaLookNs;
    quotas.look(worker);
  }
}

QuotaEviction::QuotaEviction(StoreState& store, const EvictionShared& eviction)
    : store_(store),
      quotas_(*store.quotas()),
      eviction_(eviction),
      hands_(std::make_unique<Hand[]>(quotas_.size())) {}

void QuotaEviction::look(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  const bool holds = !store_.tears_down();
  bool is_full = false;
  for (std::size_t quota = 0; quota < quotas_.size(); ++quota) {
    const std::uint64_t charge = quotas_.publish(quota, *context.quotas);
    const std::uint64_t most = quotas_.most(quota);
    if (charge <= most - most / kNearLimitPart || !holds) [[likely]] {
      continue;
    }
    if (quotas_.evicts(quota)) {
      begin(quota, charge, worker);
    } else {
      is_full = is_full || charge >= most;
    }
  }
  context.note_full_quota(is_full);
}

void QuotaEviction::begin(std::size_t quota, std::uint64_t charge, runtime::Worker& worker) {
  Hand& hand = hands_[quota];
  if (hand.walks.load(std::memory_order_relaxed) || hand.walks.exchange(true, std::memory_order_acquire)) {
    return;
  }
  if (!prepare(quota, charge, worker)) {
    hand.walks.store(false, std::memory_order_release);
    return;
  }
  hand.whole_lap = hand.key.view().empty();
  worker.create<QuotaWalk>(store_.tree(), *this, quota)->start(worker);
}

/// Whether there is something to learn or to remove.
bool QuotaEviction::prepare(std::size_t quota, std::uint64_t charge, runtime::Worker& worker) {
  Hand& hand = hands_[quota];
  const std::uint64_t most = quotas_.most(quota);
  const std::uint64_t items = quotas_.total(quota, quota_count::items);
  hand.learns = charge <= most;
  const bool is_known = hand.learnt && sets(quota) - hand.learnt_at <= items / kRenewedItemsPart;
  if (hand.learns ? is_known : store_.total(counter::seen_ended) < hand.settled_at) {
    return false;
  }
  const bool weighs_size = eviction_.weighs_size.load(std::memory_order_relaxed);
  if (hand.scores == nullptr || weighs_size != hand.weighs_size) {
    hand.scores = std::make_unique<EvictionScores>();
  }
  hand.weighs_size = weighs_size;
  if (hand.learns) {
    MXKV_PATH(quota_census);
    *hand.scores = {};
    hand.scores->remember(items);
    hand.key.set({});
    return true;
  }
  MXKV_PATH(quota_walk);
  hand.scores->remember(items);
  hand.missing = charge - most + most / kQuotaSlackPart + 1;
  const bool all = hand.fruitless_laps == kMostQuotaLaps;
  hand.scores->set_part(all ? 1 : std::min(1.0, std::ldexp(kQuotaPart, hand.fruitless_laps)),
                        worker.now_us());
  return true;
}

bool QuotaEviction::removes(std::size_t quota, const Item& item, std::uint64_t now_us) noexcept {
  Hand& hand = hands_[quota];
  const EvictionScores::Seen seen = EvictionScores::seen(
      item.idle_us(now_us), item.reads(), hand.weighs_size ? item.memory_bytes() + kBesideItem : 0);
  hand.scores->note(seen, now_us);
  if (hand.learns) {
    return learnt_enough(quota);
  }
  if (!hand.scores->is_worst(seen)) {
    return false;
  }
  hand.scores->forget(seen);
  return true;
}

bool QuotaEviction::learnt_enough(std::size_t quota) noexcept {
  return quotas_.published(quota) > quotas_.most(quota);
}

void QuotaEviction::ended(std::size_t quota, std::string_view key) noexcept {
  Hand& hand = hands_[quota];
  hand.key.set(key);
  hand.learnt = true;
  hand.learnt_at = sets(quota);
  if (!hand.learns) {
    if (hand.missing == 0) {
      hand.fruitless_laps = 0;
    } else if (hand.whole_lap && hand.fruitless_laps < kMostQuotaLaps) {
      ++hand.fruitless_laps;
    }
    hand.settled_at = store_.total(counter::seen_started);
  }
  hand.walks.store(false, std::memory_order_release);
}

}  // namespace mxkv::server

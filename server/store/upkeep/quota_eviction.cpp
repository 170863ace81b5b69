#include "server/store/upkeep/quota_eviction.hpp"

#include "runtime/base/paths.hpp"
#include "server/store/core/neighbour_keys.hpp"
#include "server/store/upkeep/eviction_walk.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kQuotaLookNs = 1'000'000;
/// A walk removes this part of the limit more than it has to, so that the next one is not needed at once.
constexpr std::uint64_t kQuotaSlackPart = 64;
/// Near the limit scores are learnt, and anew when values for this part of the items were stored since the last walk.
constexpr std::uint64_t kRenewedItemsPart = 4;
/// The part of the items met that is removed.
constexpr double kQuotaPart = 0.1;

static_assert(sizeof(EvictionWalk<QuotaHand>) <= runtime::kLargestTaskBytes);

}  // namespace

void QuotaLook::tick(QuotaEviction& quotas, runtime::Worker& worker) {
  if (worker.now_ns() >= next_ns_ || worker.local<WorkerContext>().quotas->has_put_much()) [[unlikely]] {
    next_ns_ = worker.now_ns() + kQuotaLookNs;
    quotas.look(worker);
  }
}

QuotaEviction::QuotaEviction(StoreState& store) : store_(store), quotas_(*store.quotas()) {
  for (std::size_t quota = 0; quota < quotas_.size(); ++quota) {
    hands_.emplace_back(store, quota);
  }
}

void QuotaEviction::look(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  const bool holds = !store_.tears_down();
  bool may_refuse = false;
  context.quotas->looked();
  for (std::size_t quota = 0; quota < quotas_.size(); ++quota) {
    const std::uint64_t charge = quotas_.publish(quota, *context.quotas);
    const std::uint64_t most = quotas_.most(quota);
    if (charge <= most - most / Quotas::kNearLimitPart || !holds) [[likely]] {
      continue;
    }
    if (quotas_.evicts(quota)) {
      hands_[quota].begin(charge, worker);
    } else {
      may_refuse = true;
    }
  }
  context.note_quota_near_limit(may_refuse);
}

void QuotaHand::begin(std::uint64_t charge, runtime::Worker& worker) {
  if (walks_.load(std::memory_order_relaxed) || walks_.exchange(true, std::memory_order_acquire)) {
    return;
  }
  if (!prepare(charge, worker)) {
    walks_.store(false, std::memory_order_release);
    return;
  }
  whole_lap_ = learns_ || hand_.view().empty();
  if (whole_lap_) {
    hand_.set(prefix());
  }
  worker.create<EvictionWalk<QuotaHand>>(store_.tree(), *this)->start(worker);
}

/// Whether there is something to learn or to remove.
bool QuotaHand::prepare(std::uint64_t charge, runtime::Worker& worker) {
  const std::uint64_t most = quotas_.most(quota_);
  const std::uint64_t items = quotas_.total(quota_, quota_count::items);
  learns_ = charge <= most;
  const bool is_known = learnt_ && sets() - learnt_at_ <= items / kRenewedItemsPart;
  if (learns_ ? is_known : store_.total(counter::seen_ended) < settled_at_) {
    return false;
  }
  const bool weighs_size = quotas_.weighs_size(quota_);
  if (scores_ == nullptr || weighs_size != weighs_size_ || learns_) {
    scores_ = std::make_unique<EvictionScores>();
  }
  weighs_size_ = weighs_size;
  scores_->remember(items);
  if (learns_) {
    MXKV_PATH(quota_census);
    return true;
  }
  MXKV_PATH(quota_walk);
  missing_ = charge - most + most / kQuotaSlackPart + 1;
  scores_->set_part(bolder(kQuotaPart), worker.now_us());
  return true;
}

walk_verdict QuotaHand::judge(const Item& item, runtime::Worker& worker) noexcept {
  const std::string_view key = item.key();
  if (!key.starts_with(prefix())) {
    return walk_verdict::behind;
  }
  if (const std::size_t other = quotas_.prefixes().find(key); other != quota_) [[unlikely]] {
    MXKV_PATH(quota_skips_inner);
    KeyRoom room;
    const std::string_view next = behind_prefix(quotas_.prefixes().at(other), room);
    hand_.set(next);
    return next.empty() ? walk_verdict::behind : walk_verdict::jumps;
  }
  if (!is_live(item, worker)) {
    return walk_verdict::goes;
  }
  const EvictionScores::Seen seen = this->seen(item, worker.now_us());
  scores_->note(seen, worker.now_us());
  if (learns_) {
    return quotas_.published(quota_) > quotas_.most(quota_) ? walk_verdict::enough : walk_verdict::stays;
  }
  if (!scores_->is_worst(seen)) {
    return walk_verdict::stays;
  }
  scores_->forget(seen);
  return walk_verdict::goes;
}

void QuotaHand::ended(std::string_view key, runtime::Worker& /*worker*/) noexcept {
  hand_.set(key);
  learnt_ = true;
  learnt_at_ = sets();
  if (!learns_) {
    judge_lap();
    settled_at_ = store_.total(counter::seen_started);
  }
  walks_.store(false, std::memory_order_release);
}

}  // namespace mxkv::server

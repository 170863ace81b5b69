#include "server/store/upkeep/eviction.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/paths.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/eviction_walk.hpp"
#include "server/store/upkeep/ghosts.hpp"
#include "server/store/upkeep/reclaim_passes.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kLookAgainNs = 1'000'000;
constexpr std::uint64_t kUntilWalkEnds = std::numeric_limits<std::uint64_t>::max();
/// The headroom of all workers: it must hold the data written while retired items wait for their epoch.
constexpr std::size_t kHeadroomPart = 64;
constexpr std::size_t kLeastHeadroom = std::size_t{1} << 18U;
constexpr std::size_t kMostHeadroom = std::size_t{1} << 28U;
/// Between two walks for spans: the memory that the last one removed has to pass its epoch first. The shorter
/// time applies if a request waits and that memory is free.
constexpr std::uint64_t kGiveBackEveryNs = 60'000'000;
constexpr std::uint64_t kGiveBackSoonNs = 2'000'000;
/// Between two reclaims of a worker's retired items, while a request waits.
constexpr std::uint64_t kReclaimEveryNs = 1'000'000;
/// A waiting request asks in every round: this long after the last refusal, none waits.
constexpr std::uint64_t kWaitsForNs = 10'000'000;
/// If a request was refused this recently, the walks before did not help it.
constexpr std::uint64_t kStillRefusedNs = 3'000'000;
/// Multiplier that spreads spans over groups.
constexpr std::uint64_t kScatter = 0x9E3779B97F4A7C15U;
/// Most groups of spans, of 256, that one walk empties; and most if only walks in vain made them more, because
/// then nobody knows how many are missing.
constexpr std::size_t kMostMarked = 64;
constexpr std::size_t kMostInVain = 12;
/// A request waits this long for memory if no item is removed, but never less than to the end of a walk.
constexpr std::uint64_t kPatienceNs = 2'000'000'000;
/// A waiting request asks in every round: a refusal after this long is of another request.
constexpr std::uint64_t kAnotherTimeNs = 100'000'000;
/// If no walk has looked at the items for this long, a census comes before the next removals.
constexpr std::uint64_t kTimesHoldNs = 2'000'000'000;
/// The census begins when this many headrooms are left.
constexpr std::size_t kCensusHeadrooms = 4;
/// The part of the items met that is removed: usually, and when less than a quarter of the headroom is left.
constexpr double kUsualPart = 0.1;
constexpr double kLargePart = 0.5;
/// The largest part of the large values met that one walk removes.
constexpr double kMostOfLarge = 0.5;
static_assert(sizeof(EvictionWalk<Eviction>) <= runtime::kLargestTaskBytes);

}  // namespace

std::uint64_t Eviction::now_ns(const runtime::Worker& worker) noexcept {
  return worker.now_ns();
}

bool Eviction::refused(runtime::Worker& worker, shortage what) noexcept {
  (what == shortage::chunk ? wants_chunks_ : wants_spans_) = true;
  const std::uint64_t now = now_ns(worker);
  if (short_since_ns_ == 0 || now - last_refusal_ns_ > kAnotherTimeNs) {
    short_since_ns_ = now;
  }
  last_refusal_ns_ = now;
  shared_.refused_ns.store(now, std::memory_order_relaxed);
  if (next_look_ns_ != kUntilWalkEnds) {
    next_look_ns_ = now;
  }
  const bool walks = purpose_ != purpose::none || shared_.giving_back.load(std::memory_order_relaxed);
  const std::uint64_t since =
      std::max(short_since_ns_, shared_.last_removal_ns.load(std::memory_order_relaxed));
  return walks || now < since + kPatienceNs;
}

walk_verdict Eviction::judge(const Item& item, runtime::Worker& worker) noexcept {
  MXKV_DCHECK(purpose_ != purpose::none, "items are judged by a walk that has a purpose");
  if (!is_live(item, worker)) {
    return walk_verdict::goes;
  }
  const Quotas* const quotas = worker.local<WorkerContext>().store->quotas();
  // If walks over all other items were not enough, nothing is kept: no write fails so that others keep memory.
  if (quotas != nullptr && fruitless_laps_ < kMostFruitless && quotas->keeps(item.key())) {
    MXKV_PATH(eviction_keeps);
    return purpose_ == purpose::spans ? moves_or_stays(item) : walk_verdict::stays;
  }
  const std::uint64_t now_us = worker.now_us();
  const EvictionScores::Seen seen = this->seen(item, now_us);
  const bool large = item.large();
  scores_.note(seen, now_us);
  if (large) {
    large_scores_.note(seen, now_us);
  }
  if (purpose_ == purpose::census) {
    large_items_ += large ? 1 : 0;
    return walk_verdict::stays;
  }
  if (purpose_ == purpose::chunks && !large) {
    return walk_verdict::stays;
  }
  const bool is_worst = (purpose_ == purpose::chunks ? large_scores_ : scores_).is_worst(seen);
  if (is_for_some()) {
    if (is_worst) {
      scores_.forget(seen);
      if (large) {
        large_scores_.forget(seen);
      }
    }
    return is_worst ? walk_verdict::goes : walk_verdict::stays;
  }
  if (is_worst) {
    // Does not forget the item: a walk for spans removes a fixed part of a lap, and forgetting would move the
    // line so that more items are removed.
    return walk_verdict::goes;
  }
  return moves_or_stays(item);
}

/// For an item that a walk for spans does not remove.
walk_verdict Eviction::moves_or_stays(const Item& item) const noexcept {
  const std::uint64_t span = reinterpret_cast<std::uint64_t>(&item) / runtime::kSpanBytes;
  const auto group = static_cast<std::uint8_t>(span * kScatter >> 56U);
  return static_cast<std::uint8_t>(group - first_marked_) < marked_ ? walk_verdict::moves
                                                                    : walk_verdict::stays;
}

bool Eviction::started(std::size_t bytes) noexcept {
  MXKV_DCHECK(purpose_ != purpose::none, "removals are started by a walk");
  removed_ = true;
  return removes(bytes) || !is_for_some();
}

/// Whether the walk ends when it has removed enough.
bool Eviction::is_for_some() const noexcept {
  return purpose_ == purpose::idle || purpose_ == purpose::chunks;
}

void Eviction::ended(std::string_view key, runtime::Worker& worker) noexcept {
  MXKV_ASSERT(purpose_ != purpose::none, "a walk ends once");
  MXKV_ASSERT(next_look_ns_ == kUntilWalkEnds, "nothing is looked for while a walk is under way");
  hand_.set(key);
  next_look_ns_ = last_walk_ns_ = now_ns(worker);
  if (is_for_some()) {
    if (!removed_) {
      next_look_ns_ +=
          kLookAgainNs;  // no item's score is high enough: without a pause this worker would never park
    }
    if (purpose_ == purpose::chunks && whole_lap_ && !removed_) {
      wants_spans_ = true;  // the worst items are small: their spans have to be given back
      if (fruitless_laps_ == kMostFruitless) {
        next_chunks_ns_ = next_look_ns_ + kGiveBackSoonNs;  // and no large item is left
      }
    }
    judge_lap();
  }
  if (removed_) {
    removed_ = false;
    // Waiting requests have a reason to wait longer.
    shared_.last_removal_ns.store(next_look_ns_, std::memory_order_relaxed);
  }
  const purpose was = std::exchange(purpose_, purpose::none);
  if (was == purpose::census) {
    large_scores_.remember(large_items_);
  } else if (was == purpose::spans) {
    gave_back_ns_ = next_look_ns_;
    MXKV_ASSERT(shared_.giving_back.load(std::memory_order_relaxed), "one walk at a time is for spans");
    shared_.giving_back.store(false, std::memory_order_relaxed);
  }
}

void Eviction::walk(purpose why, StoreState& store, runtime::Worker& worker) {
  MXKV_ASSERT(purpose_ == purpose::none, "a worker walks for one thing at a time");
  MXKV_ASSERT(!removed_, "what an earlier walk removed was told of");
  purpose_ = why;
  next_look_ns_ = kUntilWalkEnds;
  if (!is_for_some()) {
    hand_.set({});  // over all leaves
  }
  MXKV_ASSERT(!is_for_some() || missing_ > 0, "a walk that ends when it has enough lacks something");
  whole_lap_ = hand_.view().empty();
  worker.local<WorkerContext>().counters.count(why == purpose::spans ? counter::span_walks
                                                                     : counter::idle_walks);
  worker.create<EvictionWalk<Eviction>>(store.tree(), *this)->start(worker);
}

bool Eviction::anyone_waits(const runtime::Worker& worker) const noexcept {
  return now_ns(worker) < shared_.refused_ns.load(std::memory_order_relaxed) + kWaitsForNs;
}

// Reclaims this worker's retired items, and wakes parked workers, whose retired items would otherwise wait
// for their next round.
void Eviction::reclaim(runtime::Worker& worker) {
  next_reclaim_ns_ = now_ns(worker) + kReclaimEveryNs;
  if (!anyone_waits(worker)) [[likely]] {
    return;
  }
  reclaim_step(worker);
  runtime::Runtime& runtime = worker.runtime();
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& other = runtime.worker(runtime::WorkerId{static_cast<runtime::WorkerId::rep>(i)});
    if (&other != &worker && (other.counters().retired_bytes.load(std::memory_order_relaxed) > 0 ||
                              other.items().bin_bytes() > 0)) {
      static_cast<void>(other.wake_if_parked());
    }
  }
}

void Eviction::begin(StoreState& store, runtime::Worker& worker) {
  MXKV_ASSERT(purpose_ == purpose::none, "no walk begins before the last one has ended");
  next_look_ns_ = now_ns(worker) + kLookAgainNs;
  if (begin_giving_back(store, worker)) {
    return;
  }
  runtime::Runtime& runtime = worker.runtime();
  const runtime::MemoryBudget& budget = runtime.budget();
  const std::size_t limit = budget.limit_bytes();
  const std::size_t all_headroom = std::clamp(limit / kHeadroomPart, kLeastHeadroom, kMostHeadroom);
  const std::size_t used = budget.used_bytes() + runtime.item_space().left_to_others();
  const std::size_t all_unused = limit - std::min(limit, used);
  if (all_unused >= kCensusHeadrooms * all_headroom && !wants_chunks_) [[likely]] {
    return;  // the usual case, at little cost: a worker that served a request alone looks behind each
  }
  const runtime::ValueHeapStats heap = worker.items().stats();
  // Removed items free blocks in all heaps, in proportion to the heaps' sizes. So each heap wants headroom in
  // that proportion.
  const double share = static_cast<double>(heap.span_bytes) /
                       static_cast<double>(std::max(runtime.item_space().span_bytes(), runtime::kSpanBytes));
  const auto own = [share](std::size_t bytes) {
    return static_cast<std::size_t>(static_cast<double>(bytes) * std::min(share, 1.0));
  };
  const std::size_t headroom = own(all_headroom);
  if (std::exchange(wants_chunks_, false) && begin_chunks(headroom, store, worker)) {
    return;
  }
  const std::size_t unused = own(all_unused);
  const std::size_t spare = heap.span_bytes - std::min(heap.live_bytes, heap.span_bytes);
  const std::size_t coming = worker.retired_bytes();
  const std::size_t free = unused + spare + coming;
  const bool is_short = free < headroom;
  if (free < kCensusHeadrooms * headroom && begin_census(is_short, store, worker)) {
    return;
  }
  if (!is_short) {
    return;
  }
  missing_ = headroom - free + headroom / 4;
  const double part = unused + spare < headroom / 4 ? kLargePart : kUsualPart;
  scores_.set_part(bolder(part), worker.now_us());
  walk(purpose::idle, store, worker);
}

// Does not ask again for memory that is retired, or that removals under way will free.
bool Eviction::begin_chunks(std::size_t headroom, StoreState& store, runtime::Worker& worker) {
  const std::size_t coming = worker.retired_bytes();
  if (coming >= headroom || seen_in_flight(store) > 0 || now_ns(worker) < next_chunks_ns_) {
    return false;
  }
  if (begin_census(true, store, worker)) {
    wants_chunks_ = true;
    return true;
  }
  missing_ = headroom - coming;
  // Never all of them: the latest large values stay, however fast others come.
  large_scores_.set_part(std::min(bolder(kUsualPart), kMostOfLarge), worker.now_us());
  walk(purpose::chunks, store, worker);
  return true;
}

// Learns afresh if the known scores are of other items, or too old.
bool Eviction::begin_census(bool is_short, StoreState& store, runtime::Worker& worker) {
  const std::uint64_t added = store.total(counter::items_added);
  const std::uint64_t items = added - store.total(counter::items_removed);
  const std::uint64_t flushes = store.total(counter::cmd_flush);
  worker.local<WorkerContext>().ghosts->fit(items);
  const bool still_true =
      is_short ? now_ns(worker) - last_walk_ns_ < kTimesHoldNs : added - added_ <= items / 4;
  const bool weighs_size = shared_.weighs_size.load(std::memory_order_relaxed);
  if (flushes == flushes_ && still_true && weighs_size == weighs_size_) {
    scores_.remember(items);
    return false;
  }
  flushes_ = flushes;
  weighs_size_ = weighs_size;
  added_ = added;
  scores_ = EvictionScores{};
  scores_.remember(items);
  large_scores_ = EvictionScores{};
  large_items_ = 0;
  walk(purpose::census, store, worker);
  return true;
}

bool Eviction::begin_giving_back(StoreState& store, runtime::Worker& worker) {
  runtime::Runtime& runtime = worker.runtime();
  const runtime::MemoryBudget& budget = runtime.budget();
  const std::size_t limit = budget.limit_bytes();
  const std::size_t unused = limit - std::min(limit, budget.used_bytes());
  const std::size_t wanted = runtime.item_space().left_to_others();
  if (!wants_spans_ && unused >= wanted / 4 * 3) {
    return false;
  }
  const std::size_t retired = runtime.retired_bytes();
  const bool all_free = retired < wanted / 4 && seen_in_flight(store) == 0;
  if (now_ns(worker) <
      gave_back_ns_ + (all_free && anyone_waits(worker) ? kGiveBackSoonNs : kGiveBackEveryNs)) {
    return false;
  }
  if (unused >= wanted + wanted / 2) {
    wants_spans_ = false;
    return false;
  }
  if (begin_census(true, store, worker)) {
    return true;
  }
  if (retired >= wanted) {
    return false;  // enough is retired, and waits until no task can read it
  }
  if (shared_.giving_back.exchange(true, std::memory_order_relaxed)) {
    return false;  // another worker does it
  }
  const std::size_t goal = 2 * wanted - unused;
  const std::size_t spans = std::max<std::size_t>(runtime.item_space().span_bytes(), 1);
  if (second_walk_) {
    second_walk_ = false;
  } else {
    // A walk need not free whole spans. So it empties twice as many as the last one if that one did not help.
    const std::uint64_t now = now_ns(worker);
    const bool in_vain = now - last_refusal_ns_ < kStillRefusedNs && now - gave_back_ns_ < kAnotherTimeNs;
    const std::size_t least = in_vain ? std::min(std::size_t{2} * marked_, kMostInVain) : 1;
    first_marked_ = static_cast<std::uint8_t>(first_marked_ + marked_);
    marked_ = static_cast<std::uint8_t>(std::min(std::max(goal * 256 / spans + 1, least), kMostMarked));
    second_walk_ = true;
  }
  MXKV_ASSERT(marked_ > 0 && marked_ <= kMostMarked, "a walk for spans has marked some, and not most");
  // Over two walks, the removed part makes room for the moved items and for the spans given back.
  scores_.set_part(marked_ / 256.0, worker.now_us());
  walk(purpose::spans, store, worker);
  return true;
}

}  // namespace mxkv::server

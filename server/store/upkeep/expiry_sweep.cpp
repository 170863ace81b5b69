#include "server/store/upkeep/expiry_sweep.hpp"

#include <algorithm>

#include "index/edit_task.hpp"
#include "index/leaf_walk_task.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/upkeep/background_writes.hpp"

namespace mxkv::server {

namespace {

using index::Due;
using index::verdict;
using runtime::step;

constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint64_t kMostLateUs = 600 * kUsPerSecond;

/// The earliest expiry of one leaf's items.
struct ExpiryOfLeaf {
  Due due;
};

/// Removes one leaf's expired items, and notes when the next one expires.
class ExpireLeafTask final : public index::EditTask<ExpireLeafTask, ItemTraits, ExpiryOfLeaf> {
  using Base = index::EditTask<ExpireLeafTask, ItemTraits, ExpiryOfLeaf>;

 public:
  static constexpr const char* kName = "expire items";
  static constexpr bool kOneLeaf = true;

  ExpireLeafTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
                 ExpirySweep& sweep) noexcept
      : Base(task_class, tree), sweep_(sweep) {
    key_.set(key);
  }

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }

  verdict judge(std::uint64_t /*head*/, std::uint64_t value, ExpiryOfLeaf& leaf,
                runtime::Worker& worker) const {
    const Item& item = *ItemRecord::item(value);
    const std::uint64_t moment_us = worker.local<WorkerContext>().store->upkeep_moment(worker.now_us());
    if (!Liveness{worker, moment_us}(Item::View{item})) {
      return verdict::erase;
    }
    if (const std::uint32_t expiry = item.expiry(); expiry != 0) {
      leaf.due = leaf.due.or_sooner(Due::at(expiry, worker.now_us() / kUsPerSecond));
    }
    return verdict::keep;
  }
  void rewrite(ItemNode& leaf, const ExpiryOfLeaf& found) noexcept { leaf.store_due(found.due); }
  [[nodiscard]] bool refuses(std::uint64_t value, runtime::Worker& worker) const noexcept {
    return worker.local<WorkerContext>().locks->holds_off(ItemRecord::item(value)->key());
  }
  /// An operation holds a key of the leaf: the leaf stays due, for the next sweep.
  step refused(runtime::Worker& worker) { return finished(worker); }
  index::Change erasing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) noexcept {
    return index::Change::gone(index::cause::expired,
                               next_order(order_before(ItemRecord::item(value), leaf), worker));
  }
  void erased(std::uint64_t value, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    Item* const item = ItemRecord::item(value);
    context.counters.count(counter::swept_items);
    count_of_quota(context, item->key(), quota_count::expired);
    if (!item->accessed()) {
      context.counters.count(counter::expired_unfetched);
    }
    retire_item(worker, item);
  }
  void judged(const ExpiryOfLeaf& /*found*/, runtime::Worker& /*worker*/) noexcept {}
  step finished(runtime::Worker& /*worker*/) {
    sweep_.leaf_ended();
    return step::done;
  }

 private:
  ExpirySweep& sweep_;
  HeldKey key_;
};

/// A slice of a sweep.
class SweepTask final : public index::LeafWalkTask<SweepTask, ItemTraits> {
  using Base = index::LeafWalkTask<SweepTask, ItemTraits>;

 public:
  static constexpr const char* kName = "sweep for expired items";

  SweepTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
            ExpirySweep& sweep) noexcept
      : Base(task_class, tree), sweep_(sweep) {
    key_.set(key);
  }

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] bool wants(const ItemNode& leaf) const noexcept {
    const Due due = leaf.due();
    if (sweep_.wants(due)) {
      return true;
    }
    sweep_.passed(due);
    return false;
  }
  void met(std::string_view low, runtime::Worker& worker) {
    sweep_.leaf_begun();
    worker.create<ExpireLeafTask>(tree(), low, sweep_)->start(worker);
  }
  void missed() noexcept { sweep_.missed(); }
  [[nodiscard]] bool may_go_on(runtime::Worker& worker) const noexcept {
    return !sweep_.slice_over(worker.now_ns()) && !sweep_.runs_ahead();
  }
  step finished(bool exhausted, runtime::Worker& worker) {
    sweep_.ended(exhausted ? std::string_view{} : key(), exhausted, worker.now_us());
    return step::done;
  }

 private:
  ExpirySweep& sweep_;
  HeldKey key_;
};

/// Begins a slice on the worker that takes this task first.
class BeginSliceTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "sweep begins a slice";

  BeginSliceTask(const runtime::TaskClass* task_class, ItemTree& tree, ExpirySweep& sweep) noexcept
      : MxTask(task_class), tree_(tree), sweep_(sweep) {}

  step execute(runtime::Worker& worker) {
    auto* const task = worker.create<SweepTask>(tree_, sweep_.begin_slice(worker.now_ns()), sweep_);
    task->annotate(runtime::priority::low);
    task->start(worker);
    return step::done;
  }

 private:
  ItemTree& tree_;
  ExpirySweep& sweep_;
};

static_assert(sizeof(ExpireLeafTask) <= runtime::kLargestTaskBytes);
static_assert(sizeof(SweepTask) <= runtime::kLargestTaskBytes);

}  // namespace

std::uint64_t ExpirySweep::us_of(std::uint32_t expiry) noexcept {
  return expiry == std::numeric_limits<std::uint32_t>::max() ? kNever : expiry * kUsPerSecond;
}

void ExpirySweep::note(ItemNode& leaf, std::uint32_t expiry, runtime::Worker& worker) noexcept {
  MXKV_DCHECK(expiry != 0, "only what expires is noted");
  const Due due = Due::at(expiry, worker.now_us() / kUsPerSecond);
  leaf.store_due(due.or_sooner(leaf.due()));
  auto& context = worker.local<WorkerContext>();
  if (expiry < context.first_expiry.load(std::memory_order_relaxed)) {
    context.first_expiry.store(expiry, std::memory_order_relaxed);
    context.sweep->expect((expiry + Due::kSecondsAStep) * kUsPerSecond);
  }
}

void ExpirySweep::expect(std::uint64_t at_us) noexcept {
  at_us = std::max(at_us, begun_us_.load(std::memory_order_relaxed) + kEveryUs);
  std::uint64_t next = next_us_.load(std::memory_order_relaxed);
  // Pairs with the acquire in begin(): a sweep that overwrites this sees the expiry that it was for.
  while (at_us < next &&
         !next_us_.compare_exchange_weak(next, at_us, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void ExpirySweep::begin(runtime::Worker& worker) {
  if (running_.exchange(true, std::memory_order_acquire)) {
    return;  // another worker sweeps
  }
  const std::uint64_t now_us = worker.now_us();
  if (next_us_.load(std::memory_order_relaxed) > now_us) {
    running_.store(false, std::memory_order_release);  // the other sweep has just ended
    return;
  }
  const std::uint64_t planned_us = next_us_.exchange(kNever, std::memory_order_acquire);
  if (!resumes_) {
    MXKV_ASSERT(hand_.empty(), "a sweep begins at the first leaf");
    begun_us_.store(now_us, std::memory_order_relaxed);
    sweeps_.fetch_add(1, std::memory_order_relaxed);
    soonest_ = {};
    clean_ = true;
    first_us_ = us_of(store_.take_first_expiry());
    flushing_us_ = store_.flush_points().at(now_us);
    // Beyond this time, a leaf's due time cannot be distinguished from a future one.
    all_ = flushing_us_ > flushed_us_ || now_us - planned_us > kMostLateUs;
  }
  auto* const task = worker.create<BeginSliceTask>(store_.tree(), *this);
  task->annotate(runtime::deferred{worker.runtime().new_request()});
  worker.spawn(task);
}

std::string_view ExpirySweep::begin_slice(std::uint64_t now_ns) noexcept {
  slice_end_ns_ = now_ns + kSliceNs;
  return hand_;
}

void ExpirySweep::ended(std::string_view key, bool exhausted, std::uint64_t now_us) noexcept {
  MXKV_ASSERT(running_.load(std::memory_order_relaxed), "a slice ends once");
  MXKV_ASSERT(exhausted ? key.empty() : key.size() <= index::kMaxKeyBytes,
              "a slice ends at a leaf, or with all");
  hand_ = key;
  resumes_ = !exhausted;
  std::uint64_t next_us = now_us + kSliceNs / kNsPerUs;
  if (exhausted) {
    flushed_us_ = flushing_us_;
    if (!clean_) {
      next_us = now_us;
    } else if (soonest_.never()) {
      next_us = kNever;
    } else {
      next_us = now_us + soonest_.seconds_left(now_us / kUsPerSecond) * kUsPerSecond;
    }
    // A write while the sweep began may have seen only an earlier expiry. And times that were expected during
    // the sweep, for leaves that it had passed, were overwritten by the plan of its next slice.
    next_us = std::min({next_us, first_us_, us_of(store_.first_expiry())});
    if (next_us != kNever) {
      next_us = std::max(next_us, begun_us_.load(std::memory_order_relaxed) + kEveryUs);
    }
  }
  std::uint64_t known = next_us_.load(std::memory_order_relaxed);
  while (next_us < known && !next_us_.compare_exchange_weak(known, next_us, std::memory_order_relaxed)) {
  }
  running_.store(false, std::memory_order_release);
}

}  // namespace mxkv::server

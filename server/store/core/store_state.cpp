#include "server/store/core/store_state.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/store/core/item_counts.hpp"

namespace mxkv::server {

StoreState::StoreState(runtime::Runtime& runtime, const index::TreeOptions& tree,
                       const std::vector<QuotaOptions>& quotas)
    : item_kind_(runtime.add_reclaim_kind(
          [](runtime::Worker& worker, void* item) { Item::destroy(worker, static_cast<Item*>(item)); })),
      tree_(runtime, tree),
      quotas_(quotas.empty() ? nullptr : std::make_unique<Quotas>(quotas, runtime.worker_count())),
      contexts_(std::make_unique<WorkerContext[]>(runtime.worker_count())),
      workers_(runtime.worker_count()) {
  static_cast<void>(runtime.add_reclaim_kind(&ChunkList::free_part));
  for (std::size_t i = 0; i < workers_; ++i) {
    contexts_[i].store = this;
    contexts_[i].flush_points = &flush_points_;
    contexts_[i].commits = &tree_.commits();
    contexts_[i].quotas = quotas_ != nullptr ? &quotas_->tally(i) : nullptr;
    if (const std::size_t nodes = runtime.options().os_nodes.size(); nodes > 1) {
      contexts_[i].places = std::make_unique<PlaceCounters>(nodes);
    }
    runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).set_local(&contexts_[i]);
  }
}

std::uint64_t StoreState::total(counter which) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < workers_; ++i) {
    sum += contexts_[i].counters.value(which);
  }
  return sum;
}

std::uint64_t StoreState::greatest_order(std::uint64_t now_us) const noexcept {
  std::uint64_t greatest = std::max(now_us, tree_.commits().floor());
  for (std::size_t i = 0; i < workers_; ++i) {
    greatest = std::max(greatest, contexts_[i].greatest_order.load(std::memory_order_relaxed));
  }
  return greatest;
}

std::uint32_t StoreState::take_first_expiry() noexcept {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t first = kNone;
  for (std::size_t i = 0; i < workers_; ++i) {
    first = std::min(first, contexts_[i].first_expiry.exchange(kNone, std::memory_order_relaxed));
  }
  return first;
}

std::uint32_t StoreState::first_expiry() const noexcept {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < workers_; ++i) {
    first = std::min(first, contexts_[i].first_expiry.load(std::memory_order_relaxed));
  }
  return first;
}

void ItemRecord::release(runtime::Worker& worker, std::uint64_t word) noexcept {
  Item* gone = item(word);
  count_removed(worker.local<WorkerContext>(), *gone, gone->memory_bytes());
  Item::destroy(worker, gone);
}

void ItemRecord::teardown_begins(runtime::Worker& worker) noexcept {
  worker.local<WorkerContext>().store->teardowns_.fetch_add(1, std::memory_order_relaxed);
}

void ItemRecord::teardown_ends(runtime::Worker& worker) noexcept {
  const std::uint64_t before =
      worker.local<WorkerContext>().store->teardowns_.fetch_sub(1, std::memory_order_acq_rel);
  MXKV_ASSERT(before > 0, "a part that ends has begun");
}

}  // namespace mxkv::server

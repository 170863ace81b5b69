#include "server/store/upkeep/background_writes.hpp"

#include <utility>

#include "runtime/base/paths.hpp"
#include "runtime/base/probe.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

namespace {

using index::Decision;
using runtime::step;

/// A write to an item, if the leaf still has the item that was seen. Derived (CRTP) gives
///   Decision act(std::uint64_t old, Worker&)     as decide() of index::UpdateTask
///   void commit(..); step committed(..)          as there
template <class Derived>
class SeenItemTask : public index::UpdateTask<Derived, ItemTraits> {
  using Base = index::UpdateTask<Derived, ItemTraits>;

 public:
  template <class... Args>
  static void start_on(runtime::Worker& worker, std::uint64_t seen, Args... args) {
    static_assert(sizeof(Derived) + index::kMaxKeyBytes <= runtime::kLargestTaskBytes);
    const std::string_view key = ItemRecord::item(seen)->key();
    MXKV_DCHECK(key.size() <= index::kMaxKeyBytes, "the key fits behind its task");
    ItemTree& tree = worker.local<WorkerContext>().store->tree();
    auto* const task = worker.create_sized<Derived>(sizeof(Derived) + key.size(), tree, seen, args...);
    TrailingKey::store(task, key);
    task->key_bytes_ = static_cast<std::uint8_t>(key.size());
    worker.local<WorkerContext>().counters.count(counter::seen_started);
    task->start(worker);
  }

  [[nodiscard]] std::string_view key() const noexcept {
    return TrailingKey::load(static_cast<const Derived*>(this), key_bytes_);
  }

  // --- For UpdateTask ---
  Decision decide(bool found, std::uint64_t old, runtime::Worker& worker) {
    return found && old == seen_ ? this->self().act(old, worker) : Decision{};
  }
  step left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) { return ended(worker); }
  step out_of_memory(runtime::Worker& worker) { return this->self().left(false, 0, worker); }

 protected:
  SeenItemTask(const runtime::TaskClass* task_class, ItemTree& tree, std::uint64_t seen) noexcept
      : Base(task_class, tree), seen_(seen) {}
  [[nodiscard]] std::uint8_t key_bytes() const noexcept { return key_bytes_; }
  static step ended(runtime::Worker& worker) noexcept {
    worker.local<WorkerContext>().counters.count(counter::seen_ended);
    return step::done;
  }

 private:
  std::uint64_t seen_;
  std::uint8_t key_bytes_ = 0;
};

void count_reads(const Item& item) noexcept {
  switch (item.reads()) {
    case 0:
      MXKV_PATH(evicted_unread);
      break;
    case 1:
      MXKV_PATH(evicted_once_read);
      break;
    case 2:
      MXKV_PATH(evicted_twice_read);
      break;
    default:
      MXKV_PATH(evicted_often_read);
  }
}

/// Removes an expired item.
class RemoveTask final : public SeenItemTask<RemoveTask> {
 public:
  static constexpr const char* kName = "remove item";

  RemoveTask(const runtime::TaskClass* task_class, ItemTree& tree, std::uint64_t seen) noexcept
      : SeenItemTask(task_class, tree, seen) {}

  [[nodiscard]] unsigned record_lines(std::uint64_t word) const noexcept {
    return ItemRecord::key_lines(word, key_bytes());
  }
  Decision act(std::uint64_t old, runtime::Worker& worker) {
    const std::uint64_t moment_us = worker.local<WorkerContext>().store->upkeep_moment(worker.now_us());
    const bool live = Liveness{worker, moment_us}(Item::View{*ItemRecord::item(old)});
    return live ? Decision{} : Decision{Decision::what::remove, 0};
  }
  // If an operation holds the key, the item stays, and is met again later.
  [[nodiscard]] bool admitted(runtime::Worker& worker) const noexcept {
    return !worker.local<WorkerContext>().locks->holds_off(key());
  }
  step refused(runtime::Worker& worker) { return ended(worker); }
  index::Change commit(ItemNode& leaf, bool /*found*/, std::uint64_t old, std::uint64_t /*value*/,
                       runtime::Worker& worker) noexcept {
    const Item* const item = ItemRecord::item(old);
    MXKV_DCHECK(!is_live(*item, worker), "what is live goes only to make room");
    return index::Change::gone(index::cause::expired, next_order(order_before(item, leaf), worker));
  }
  step committed(bool /*found*/, std::uint64_t old, runtime::Worker& worker) {
    retire_removed(worker, ItemRecord::item(old), false);
    return ended(worker);
  }
};

/// Moves an item to another address. It disturbs no operation on the item.
class MoveTask final : public SeenItemTask<MoveTask> {
 public:
  static constexpr const char* kName = "move item";

  MoveTask(const runtime::TaskClass* task_class, ItemTree& tree, std::uint64_t seen) noexcept
      : SeenItemTask(task_class, tree, seen) {}

  Decision act(std::uint64_t old, runtime::Worker& worker) {
    discard(worker);
    copy_ = copy_of(worker, *ItemRecord::item(old));
    return copy_ == nullptr ? Decision{} : Decision{Decision::what::put, ItemRecord::word(copy_)};
  }
  // A touch changes an item under the latch, so the copy equals the old item here.
  index::Change commit(ItemNode& /*leaf*/, bool /*found*/, std::uint64_t old, std::uint64_t /*value*/,
                       runtime::Worker& /*worker*/) noexcept {
    MXKV_DCHECK(copy_->key() == key() && copy_->block_bytes() == ItemRecord::item(old)->block_bytes() &&
                    copy_->expiry() == ItemRecord::item(old)->expiry(),
                "what is moved stays as it is");
    copy_->take_version(*ItemRecord::item(old));
    return index::Change::unseen();
  }
  step committed(bool /*found*/, std::uint64_t old, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    Item* const item = ItemRecord::item(old);
    context.counters.count(counter::items_moved);
    copy_ = nullptr;
    worker.retire(item, context.store->item_kind(), item->block_bytes());
    return ended(worker);
  }
  step left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
    discard(worker);
    return ended(worker);
  }
  void discard(runtime::Worker& worker) {
    if (copy_ != nullptr) {
      Item::destroy(worker, std::exchange(copy_, nullptr));
    }
  }

 private:
  Item* copy_ = nullptr;
};

}  // namespace

void start_expiry(runtime::Worker& worker, std::uint64_t seen) {
  RemoveTask::start_on(worker, seen);
}

void start_move(runtime::Worker& worker, std::uint64_t seen) {
  MoveTask::start_on(worker, seen);
}

void retire_removed(runtime::Worker& worker, Item* item, bool live) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(live ? counter::evictions : counter::reclaimed);
  count_of_quota(context, item->key(), live ? quota_count::evictions : quota_count::expired);
  if (live) {
    count_reads(*item);
    context.ghosts->add(Ghosts::hash_of(item->key()));
    context.note(happening::evicted);
    MXKV_PROBE3(evict, item->key().data(), item->key().size(), item->value_bytes());
  }
  if (!item->accessed()) {
    context.counters.count(live ? counter::evicted_unfetched : counter::expired_unfetched);
    if (live) {
      count_of_quota(context, item->key(), quota_count::evicted_unread);
    }
  }
  if (live && context.watch->wants(watched::kEvictions)) [[unlikely]] {
    context.watch->evicted(worker, *item);
  }
  retire_item(worker, item);
}

void look_for_ghost(WorkerContext& context, Item& item) noexcept {
  constexpr std::uint32_t kReadsOfReturned = 2;
  if (context.ghosts->take(Ghosts::hash_of(item.key()))) {
    MXKV_PATH(ghost_returned);
    context.counters.count(counter::ghost_returns);
    count_of_quota(context, item.key(), quota_count::ghost_returns);
    item.set_reads(kReadsOfReturned);
  }
}

std::uint64_t seen_in_flight(const StoreState& store) noexcept {
  const std::uint64_t ended = store.total(counter::seen_ended);  // read first: it never exceeds `started`
  const std::uint64_t started = store.total(counter::seen_started);
  MXKV_DCHECK(started >= ended, "what has ended was started");
  return started - ended;
}

}  // namespace mxkv::server

#include "server/store/evacuation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/store/derived_items.hpp"
#include "server/store/store.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

namespace {

using index::Decision;
using runtime::step;

constexpr std::uint64_t kLookEveryNs = 100'000'000;
constexpr std::uint64_t kLeastPauseNs = 500'000'000;
constexpr std::uint64_t kMostPauseNs = 60'000'000'000;
constexpr std::uint64_t kPausePerWalk = 10;
/// Spare memory that is let be: this, and one part in kSparePart of what is live.
constexpr std::size_t kSpareBytes = std::size_t{1} << 20U;
constexpr std::size_t kSparePart = 8;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// Bytes of the heap's spans that hold no live block.
std::size_t spare_bytes(const runtime::ValueHeapStats& heap) noexcept {
  return heap.span_bytes - std::min(heap.live_bytes, heap.span_bytes);
}

/// Puts a copy in the place of one item, if it is still there.
class MoveTask final : public index::UpdateTask<MoveTask, ItemTraits> {
  using Base = index::UpdateTask<MoveTask, ItemTraits>;

 public:
  static constexpr const char* kName = "move item";

  /// Needs key.size() bytes behind the task. `seen`: the leaf's word of the item.
  MoveTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
           std::uint64_t seen) noexcept
      : Base(task_class, tree), seen_(seen), key_bytes_(static_cast<std::uint8_t>(key.size())) {
    TrailingKey::store(this, key);
  }

  [[nodiscard]] std::string_view key() const noexcept { return TrailingKey::load(this, key_bytes_); }

  Decision decide(bool found, std::uint64_t old, runtime::Worker& worker) {
    discard(worker);
    if (!found || old != seen_) {
      return {};
    }
    copy_ = copy_of(worker, *ItemRecord::item(old));
    return copy_ == nullptr ? Decision{} : Decision{Decision::what::put, ItemRecord::word(copy_)};
  }
  // What a touch changes of an item it changes under the latch, so the copy is as the old one is now.
  void commit(ItemNode& /*leaf*/, bool /*found*/, std::uint64_t old, std::uint64_t /*value*/,
              runtime::Worker& /*worker*/) noexcept {
    copy_->set_cas(ItemRecord::item(old)->cas());
  }
  step committed(bool /*found*/, std::uint64_t old, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    Item* const item = ItemRecord::item(old);
    context.counters.count(counter::items_moved);
    copy_ = nullptr;
    worker.retire(item, context.store->item_kind(), item->block_bytes());
    return step::done;
  }
  step left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
    discard(worker);
    return step::done;
  }
  step out_of_memory(runtime::Worker& worker) { return left(false, 0, worker); }
  void discard(runtime::Worker& worker) {
    if (copy_ != nullptr) {
      Item::destroy(worker, std::exchange(copy_, nullptr));
    }
  }

 private:
  Item* copy_ = nullptr;
  std::uint64_t seen_;
  std::uint8_t key_bytes_;
};

/// Walks the leaves once, for the items of its worker's own sparse spans.
class WalkTask final : public index::ScanTask<WalkTask, ItemTraits> {
  using Base = index::ScanTask<WalkTask, ItemTraits>;

 public:
  static constexpr const char* kName = "walk for evacuation";

  WalkTask(const runtime::TaskClass* task_class, ItemTree& tree, Evacuation& evacuation) noexcept
      : Base(task_class, tree), evacuation_(evacuation) {}

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  void set_key(std::string_view key) noexcept {
    std::copy(key.begin(), key.end(), key_);
    key_bytes_ = static_cast<std::uint8_t>(key.size());
  }
  [[nodiscard]] bool backward() const noexcept { return false; }
  bool visit(std::uint64_t /*head*/, std::uint64_t value, runtime::Worker& worker) {
    Item* const item = ItemRecord::item(value);
    if (worker.items().in_sparse_span(item)) {
      const std::string_view key = item->key();
      worker.create_sized<MoveTask>(sizeof(MoveTask) + key.size(), tree(), key, value)->start(worker);
    }
    return true;
  }
  step finished(bool /*exhausted*/, runtime::Worker& worker) {
    evacuation_.ended(worker);
    return step::done;
  }

 private:
  Evacuation& evacuation_;
  std::uint8_t key_bytes_ = 0;
  char key_[index::kMaxKeyBytes];
};

static_assert(sizeof(WalkTask) <= runtime::kLargestTaskBytes);
static_assert(sizeof(MoveTask) + index::kMaxKeyBytes <= runtime::kLargestTaskBytes);

}  // namespace

std::uint64_t Evacuation::now_ns(const runtime::Worker& worker) noexcept {
  return worker.now_ns();
}

void Evacuation::begin(Store& store, runtime::Worker& worker) {
  const runtime::ValueHeapStats heap = worker.items().stats();
  const std::size_t spare = spare_bytes(heap);
  if (spare <= kSpareBytes + heap.live_bytes / kSparePart) {
    next_look_ns_ = worker.now_ns() + kLookEveryNs;
    pause_ns_ = 0;
    return;
  }
  begun_ns_ = worker.now_ns();
  next_look_ns_ = kNever;
  spare_before_ = spare;
  auto* const walk = worker.create<WalkTask>(store.tree(), *this);
  walk->annotate(runtime::priority::low);
  walk->start(worker);
}

void Evacuation::ended(runtime::Worker& worker) {
  const std::uint64_t now_ns = worker.now_ns();
  // Moves that this walk started may still be under way: what they free is seen by the next look.
  const bool helped = spare_bytes(worker.items().stats()) < spare_before_ - spare_before_ / kSparePart;
  pause_ns_ = helped ? kLeastPauseNs : std::clamp(2 * pause_ns_, kLeastPauseNs, kMostPauseNs);
  next_look_ns_ = now_ns + std::max(pause_ns_, kPausePerWalk * (now_ns - begun_ns_));
}

}  // namespace mxkv::server

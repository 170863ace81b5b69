#include "server/store/upkeep/defragmenter.hpp"

#include <algorithm>
#include <limits>

#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/later_task.hpp"

namespace mxkv::server {

namespace {

using runtime::step;

constexpr std::uint64_t kLookEveryNs = 100'000'000;
constexpr std::uint64_t kLeastPauseNs = 500'000'000;
constexpr std::uint64_t kMostPauseNs = 60'000'000'000;
constexpr std::uint64_t kPausePerWalk = 10;
/// Spare memory that is tolerated: this, plus one part in kSparePart of the live bytes.
constexpr std::size_t kSpareBytes = std::size_t{1} << 20U;
constexpr std::size_t kSparePart = 8;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// Bytes of the heap's spans that hold no live block.
std::size_t spare_bytes(const runtime::ValueHeapStats& heap) noexcept {
  return heap.span_bytes - std::min(heap.live_bytes, heap.span_bytes);
}

/// Whether so much of the heap is spare that a walk pays.
bool is_sparse(const runtime::ValueHeapStats& heap) noexcept {
  return spare_bytes(heap) > kSpareBytes + heap.live_bytes / kSparePart;
}

/// Walks the leaves once, for the items of its worker's own sparse spans.
class WalkTask final : public index::ScanTask<WalkTask, ItemTraits> {
  using Base = index::ScanTask<WalkTask, ItemTraits>;

 public:
  static constexpr const char* kName = "walk for evacuation";
  static constexpr unsigned kRecordLines = 0;  // an address tells the span

  WalkTask(const runtime::TaskClass* task_class, ItemTree& tree, Defragmenter& defragmenter) noexcept
      : Base(task_class, tree), defragmenter_(defragmenter) {}

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] bool backward() const noexcept { return false; }
  bool visit(std::uint64_t /*head*/, std::uint64_t value, runtime::Worker& worker) {
    Item* const item = ItemRecord::item(value);
    if (pace_.is_too_fast(worker)) [[unlikely]] {
      set_key(item->key());
      pauses_ = true;
      return false;
    }
    if (worker.items().in_sparse_span(item)) {
      pace_.started();
      start_move(worker, value);
    }
    return true;
  }
  step finished(bool /*exhausted*/, runtime::Worker& worker) {
    if (pauses_) {
      auto* const rest = worker.create<WalkTask>(this->tree(), defragmenter_);
      rest->annotate(runtime::priority::low);
      rest->set_key(key());
      worker.spawn(worker.create<LaterTask<WalkTask>>(*rest));
      return step::done;
    }
    defragmenter_.ended(worker);
    return step::done;
  }

 private:
  Defragmenter& defragmenter_;
  WalkPace pace_;
  bool pauses_ = false;
  HeldKey key_;
};

static_assert(sizeof(WalkTask) <= runtime::kLargestTaskBytes);

}  // namespace

std::uint64_t Defragmenter::now_ns(const runtime::Worker& worker) noexcept {
  return worker.now_ns();
}

bool Defragmenter::pays(const runtime::ValueHeapStats& heap) const noexcept {
  const std::size_t in_vain = in_vain_.load(std::memory_order_relaxed);
  return is_sparse(heap) && spare_bytes(heap) > in_vain + in_vain / kSparePart;
}

bool Defragmenter::may_help(const runtime::ValueHeap& heap) const noexcept {
  return unjudged_.load(std::memory_order_relaxed) || pays(heap.stats());
}

void Defragmenter::look(StoreState& store, runtime::Worker& worker) {
  const bool hurries = hurries_.exchange(false, std::memory_order_relaxed);
  if (now_ns(worker) >= next_look_ns_) {
    begin(store, worker);
    return;
  }
  if (!hurries || next_look_ns_ == kNever ||
      (unjudged_.load(std::memory_order_relaxed) && !knows_effect(store, worker))) {
    return;
  }
  const runtime::ValueHeapStats heap = worker.items().stats();
  judge(heap);
  if (pays(heap)) {
    begin(store, worker);
  }
}

/// Whether all moves of the last walk have ended, and a pass has freed the old items.
bool Defragmenter::knows_effect(const StoreState& store, const runtime::Worker& worker) noexcept {
  if (!pass_ && seen_in_flight(store) == 0) {
    pass_ = passes_.want();
  }
  return pass_ && passes_.ended(*pass_, worker);
}

void Defragmenter::judge(const runtime::ValueHeapStats& heap) noexcept {
  if (unjudged_.load(std::memory_order_relaxed)) {
    const std::size_t spare = spare_bytes(heap);
    const bool helped = spare < spare_before_ - spare_before_ / kSparePart;
    in_vain_.store(helped ? 0 : spare, std::memory_order_relaxed);
    unjudged_.store(false, std::memory_order_relaxed);
  }
}

void Defragmenter::begin(StoreState& store, runtime::Worker& worker) {
  const runtime::ValueHeapStats heap = worker.items().stats();
  judge(heap);
  if (!is_sparse(heap)) {
    next_look_ns_ = worker.now_ns() + kLookEveryNs;
    pause_ns_ = 0;
    in_vain_.store(0, std::memory_order_relaxed);
    return;
  }
  begun_ns_ = worker.now_ns();
  next_look_ns_ = kNever;
  spare_before_ = spare_bytes(heap);
  pass_.reset();
  unjudged_.store(true, std::memory_order_relaxed);
  auto* const walk = worker.create<WalkTask>(store.tree(), *this);
  walk->annotate(runtime::priority::low);
  walk->start(worker);
}

void Defragmenter::ended(runtime::Worker& worker) {
  MXKV_ASSERT(next_look_ns_ == kNever, "a walk ends once, and no other has begun meanwhile");
  MXKV_ASSERT(spare_before_ > kSpareBytes, "a walk has something to gather");
  const std::uint64_t now_ns = worker.now_ns();
  // Moves that this walk started may still be under way: the next look sees the memory that they free.
  const bool helped = spare_bytes(worker.items().stats()) < spare_before_ - spare_before_ / kSparePart;
  pause_ns_ = helped ? kLeastPauseNs : std::clamp(2 * pause_ns_, kLeastPauseNs, kMostPauseNs);
  next_look_ns_ = now_ns + std::max(pause_ns_, kPausePerWalk * (now_ns - begun_ns_));
}

}  // namespace mxkv::server

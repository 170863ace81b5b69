#include "server/store/upkeep/leaf_merger.hpp"

#include <algorithm>

#include "index/leaf_walk_task.hpp"
#include "index/merge_task.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

namespace {

using runtime::step;

/// A slice of a pass.
class MergeWalk final : public index::LeafWalkTask<MergeWalk, ItemTraits> {
  using Base = index::LeafWalkTask<MergeWalk, ItemTraits>;

 public:
  static constexpr const char* kName = "walk for leaves to merge";

  MergeWalk(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
            LeafMerger& merger) noexcept
      : Base(task_class, tree), merger_(merger) {
    key_.set(key);
  }

  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  void met_siblings(ItemNode& parent, const index::Entries& leaves, runtime::Worker& worker) {
    merger_.started(index::spawn_merges(tree(), parent, leaves, *this, worker));
  }
  [[nodiscard]] bool may_go_on(runtime::Worker& worker) const noexcept {
    return !merger_.slice_over(worker.now_ns());
  }
  step finished(bool exhausted, runtime::Worker& worker) {
    merger_.ended(exhausted ? std::string_view{} : key(), exhausted, worker.now_ns());
    return step::done;
  }

 private:
  LeafMerger& merger_;
  HeldKey key_;
};

static_assert(sizeof(MergeWalk) <= runtime::kLargestTaskBytes);

}  // namespace

bool LeafMerger::is_worth_it() noexcept {
  const std::uint64_t removed = store_.total(counter::items_removed);  // read first: never above `added`
  const std::uint64_t items = store_.total(counter::items_added) - removed;
  if (removed - removed_ < std::max<std::uint64_t>(items / kPart, least_removed_)) {
    return false;
  }
  removed_ = removed;
  return true;
}

void LeafMerger::look(runtime::Worker& worker) {
  if (running_.exchange(true, std::memory_order_acquire)) {
    return;  // another worker is at work
  }
  const std::uint64_t now_ns = worker.now_ns();
  next_ns_.store(now_ns + kLookEveryNs, std::memory_order_relaxed);
  if (hand_.empty() && !is_worth_it()) {
    running_.store(false, std::memory_order_release);
    return;
  }
  slice_end_ns_ = now_ns + kSliceNs;
  merges_ = 0;
  auto* const walk = worker.create<MergeWalk>(store_.tree(), hand_, *this);
  walk->annotate(runtime::priority::low);
  walk->start(worker);
}

void LeafMerger::ended(std::string_view key, bool exhausted, std::uint64_t now_ns) noexcept {
  MXKV_ASSERT(running_.load(std::memory_order_relaxed), "a slice ends once");
  MXKV_ASSERT(exhausted ? key.empty() : !key.empty() && key.size() <= index::kMaxKeyBytes,
              "a slice ends at a leaf, or with all");
  hand_ = key;
  next_ns_.store(now_ns + (exhausted ? kLookEveryNs : kSliceNs), std::memory_order_relaxed);
  running_.store(false, std::memory_order_release);
}

}  // namespace mxkv::server

#include "server/store/upkeep/leaf_evictions.hpp"

#include <algorithm>
#include <cstring>

#include "index/unlink_task.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/core/liveness.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/upkeep/background_writes.hpp"

namespace mxkv::server {

namespace {

using runtime::step;

struct EvictScratch : index::TraverseScratch {
  struct Removal {
    std::uint64_t word;
    index::Position at;
    bool live;
    bool goes;
  };
  std::array<Removal, std::size_t{index::NodeMeta::kMaxBlocks} * index::NodeMeta::kMaxSlots>
      removals;  ///< in the leaf's order
  unsigned count;
};

/// The words follow behind the task.
class EvictLeafTask final : public index::TraverseTask<EvictLeafTask, ItemTraits, EvictScratch> {
  using Base = index::TraverseTask<EvictLeafTask, ItemTraits, EvictScratch>;

 public:
  static constexpr const char* kName = "evict items of a leaf";
  static constexpr bool kWrites = true;
  static constexpr bool kWholeTarget = true;

  EvictLeafTask(const runtime::TaskClass* task_class, ItemTree& tree, unsigned count) noexcept
      : Base(task_class, tree), count_(static_cast<std::uint8_t>(count)) {}

  [[nodiscard]] static std::size_t bytes(unsigned count) noexcept {
    return sizeof(EvictLeafTask) + count * sizeof(std::uint64_t);
  }
  void start(const std::uint64_t* seen, ItemNode& leaf, runtime::Worker& worker) {
    std::memcpy(reinterpret_cast<std::byte*>(this) + sizeof(*this), seen, count_ * sizeof(std::uint64_t));
    set_own_mark(true);
    enter(ItemTree::tag(&leaf));
    annotate(runtime::access::write);
    annotate_lines(object(), 0, ItemNode::kLines);
    worker.spawn(this);
  }

  /// Not used: the task descends to no key.
  [[nodiscard]] std::string_view key() const noexcept { return {}; }

  index::TraverseScratch::kind inspect_target(const ItemNode& node, const runtime::OptimisticRead& /*read*/,
                                              EvictScratch& scratch) const noexcept {
    scratch.count = 0;
    Places places{node, scratch.meta};
    for (unsigned n = 0; n < count_; ++n) {
      const std::uint64_t word = seen(n);
      if (Places found = places; found.go_to(word)) {
        scratch.removals[scratch.count++] = {word, found.at(), false, false};
        places = found;
      }
    }
    return index::TraverseScratch::kind::target;
  }

  /// Readers never get here: the target is entered as a writer.
  step resume_target(EvictScratch& /*scratch*/, runtime::Worker& worker) { return conflict(worker); }
  step resume_item(runtime::Worker& /*worker*/) { return step::done; }

  bool prepare(EvictScratch& scratch, runtime::Worker& worker, step& otherwise) {
    MXKV_ASSERT(scratch.what == index::TraverseScratch::kind::target && here().leaf(),
                "the task begins at its leaf");
    if (scratch.count < count_) {
      MXKV_PATH(evict_missed);
    }
    if (scratch.count == 0) {
      otherwise = ended(worker);
      return false;
    }
    const Ghosts& ghosts = *worker.local<WorkerContext>().ghosts;
    for (unsigned n = 0; n < scratch.count; ++n) {
      ghosts.prefetch(Ghosts::hash_of(ItemRecord::item(scratch.removals[n].word)->key()));
    }
    return true;
  }

  void apply(EvictScratch& scratch, runtime::Worker& worker) {
    ItemNode& leaf = here();
    MXKV_ASSERT(!leaf.meta().frozen(), "a leaf with entries is not on its way out");
    const RangeLocks& locks = *worker.local<WorkerContext>().locks;
    for (unsigned n = scratch.count; n-- > 0;) {  // from the last: the others stay where they are
      EvictScratch::Removal& removal = scratch.removals[n];
      const Item& item = *ItemRecord::item(removal.word);
      removal.goes = !locks.holds_off(item.key());
      if (!removal.goes) [[unlikely]] {
        MXKV_PATH(evict_held);
        continue;
      }
      removal.live = is_live(item, worker);
      const auto why = removal.live ? index::cause::evicted : index::cause::expired;
      tree().passes(leaf, index::Change::gone(why, next_order(order_before(&item, leaf), worker)), item.key(),
                    0, removal.word, worker);
      leaf.erase(removal.at);
    }
  }

  step finish(EvictScratch& scratch, runtime::Worker& worker) {
    MXKV_PATH(evict_of_leaf);
    if (here().meta().thin()) {
      index::spawn_unlink(tree(), here(), *this, worker);
    }
    for (unsigned n = 0; n < scratch.count; ++n) {
      const EvictScratch::Removal& removal = scratch.removals[n];
      if (removal.goes) [[likely]] {
        retire_removed(worker, ItemRecord::item(removal.word), removal.live);
      }
    }
    return ended(worker);
  }

  void abandon(EvictScratch& /*scratch*/, runtime::Worker& /*worker*/) {}
  void discard(runtime::Worker& /*worker*/) {}

 private:
  /// The entries of a leaf, one after the other.
  class Places {
   public:
    Places(const ItemNode& leaf, index::NodeMeta meta) noexcept : leaf_(&leaf), meta_(meta) {}
    [[nodiscard]] index::Position at() const noexcept {
      return {static_cast<std::uint8_t>(block_), static_cast<std::uint8_t>(slot_ - 1)};
    }
    /// Goes behind the next entry with this word. False: there is none.
    [[nodiscard]] bool go_to(std::uint64_t word) noexcept {
      const unsigned blocks = std::min(meta_.blocks(), ItemTraits::Shape::blocks(true));
      for (; block_ < blocks; ++block_, slot_ = 0) {
        const unsigned count = ItemNode::clamp_count(meta_, block_);
        while (slot_ < count) {
          const index::Position next{static_cast<std::uint8_t>(block_), static_cast<std::uint8_t>(slot_++)};
          if (leaf_->value(true, next) == word) {
            return true;
          }
        }
      }
      return false;
    }

   private:
    const ItemNode* leaf_;
    index::NodeMeta meta_;
    unsigned block_ = 0;
    unsigned slot_ = 0;
  };

  [[nodiscard]] std::uint64_t seen(unsigned n) const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(this) + sizeof(*this) + n * sizeof(word),
                sizeof(word));
    return word;
  }
  step ended(runtime::Worker& worker) const noexcept {
    worker.local<WorkerContext>().counters.count(counter::seen_ended, count_);
    return step::done;
  }

  std::uint8_t count_;
};

static_assert(sizeof(EvictLeafTask) +
                  sizeof(std::uint64_t) * index::NodeMeta::kMaxBlocks * index::NodeMeta::kMaxSlots <=
              runtime::kLargestTaskBytes);

}  // namespace

void LeafEvictions::add(std::uint64_t seen) {
  MXKV_ASSERT(count_ < kMost, "a walk meets each entry of a leaf once");
  runtime::prefetch_line(ItemRecord::address(seen), 1);  // the rest of the key
  seen_[count_++] = seen;
}

void LeafEvictions::start(ItemNode& leaf, const runtime::MxTask* walk, runtime::Worker& worker) {
  ItemTree& tree = worker.local<WorkerContext>().store->tree();
  auto* const task = worker.create_sized<EvictLeafTask>(EvictLeafTask::bytes(count_), tree, count_);
  worker.local<WorkerContext>().counters.count(counter::seen_started, count_);
  if (walk != nullptr) {
    worker.share_pin(*walk, *task);
  } else {
    worker.pin(*task);
  }
  task->start(seen_.data(), leaf, worker);
}

}  // namespace mxkv::server

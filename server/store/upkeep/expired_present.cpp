#include "server/store/upkeep/expired_present.hpp"

#include <cmath>

#include "index/sample_task.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"

namespace mxkv::server {

namespace {

class LookTask final : public index::SampleTask<LookTask, ItemTraits> {
  using Base = index::SampleTask<LookTask, ItemTraits>;

 public:
  static constexpr const char* kName = "expired items estimate";

  LookTask(const runtime::TaskClass* task_class, ItemTree& tree, ExpiredPresent& present,
           std::uint64_t seed) noexcept
      : Base(task_class, tree, seed), present_(present) {}

  [[nodiscard]] static std::string_view key() noexcept { return {}; }
  [[nodiscard]] static bool ends_before(std::string_view /*key*/) noexcept { return false; }

  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker) {
    for (unsigned i = 0; i < leaf.count; ++i) {
      runtime::prefetch_read(ItemRecord::address(leaf.values[i]));
    }
    const Liveness live{worker};
    for (unsigned i = 0; i < leaf.count; ++i) {
      const Item& item = *ItemRecord::item(leaf.values[i]);
      if (!live(Item::View{item})) {
        items_ += weight;
        bytes_ += weight * static_cast<double>(item.memory_bytes());
      }
    }
    return ++walks_ < ExpiredPresent::kWalks && !whole;
  }
  runtime::step finished(runtime::Worker& worker) {
    MXKV_ASSERT(walks_ > 0, "an estimate is of one walk or more");
    worker.unpin(*this);
    present_.found(items_ / walks_, bytes_ / walks_);
    return runtime::step::done;
  }

 private:
  ExpiredPresent& present_;
  double items_ = 0;  ///< sums over the walks
  double bytes_ = 0;
  std::uint32_t walks_ = 0;
};

static_assert(sizeof(LookTask) <= runtime::kLargestTaskBytes);

}  // namespace

void ExpiredPresent::tick(runtime::Worker& worker) {
  std::uint64_t next = next_us_.load(std::memory_order_relaxed);
  if (next - worker.now_us() <= kEveryUs) [[likely]] {
    return;  // a greater distance means that the time has come, or that the clock was moved back
  }
  if (!next_us_.compare_exchange_strong(next, worker.now_us() + kEveryUs, std::memory_order_relaxed) ||
      !sweep_.expects()) {
    return;  // another worker looks, or no item is to expire
  }
  auto* const task = worker.create<LookTask>(store_.tree(), *this, worker.now_ns());
  task->annotate(runtime::priority::low);
  task->start(worker);
}

std::uint64_t ExpiredPresent::removed() const noexcept {
  return store_.total(counter::swept_items) + store_.total(counter::reclaimed);
}

void ExpiredPresent::found(double items, double bytes) noexcept {
  MXKV_ASSERT(items >= 0 && bytes >= items, "an item has one byte or more");
  removed_.store(removed(), std::memory_order_relaxed);
  items_.store(static_cast<std::uint64_t>(std::llround(items)), std::memory_order_relaxed);
  bytes_.store(static_cast<std::uint64_t>(std::llround(bytes)), std::memory_order_relaxed);
}

ExpiredPresent::Estimate ExpiredPresent::estimate() const noexcept {
  const std::uint64_t items = items_.load(std::memory_order_relaxed);
  const std::uint64_t gone = removed() - removed_.load(std::memory_order_relaxed);
  if (items <= gone || !sweep_.expects()) {
    return {};
  }
  const double left = static_cast<double>(items - gone) / static_cast<double>(items);
  return {items - gone,
          static_cast<std::uint64_t>(left * static_cast<double>(bytes_.load(std::memory_order_relaxed)))};
}

}  // namespace mxkv::server

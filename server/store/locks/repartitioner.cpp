#include "server/store/locks/repartitioner.hpp"

#include <algorithm>

#include "runtime/scheduler/runtime.hpp"
#include "server/store/locks/repartition_task.hpp"

namespace mxkv::server {

void Repartitioner::tick(runtime::Worker& worker) {
  constexpr std::uint64_t kEveryNs = 1'000'000'000;
  constexpr std::uint64_t kFewItems = 256;
  const std::uint64_t now_ns = worker.now_ns();
  // By a sum: another worker's time may be ahead.
  if (now_ns < begun_ns_.load(std::memory_order_relaxed) + kEveryNs ||
      drawing_.exchange(true, std::memory_order_acquire)) {
    return;
  }
  begun_ns_.store(now_ns, std::memory_order_relaxed);
  const std::uint64_t added = store_.total(counter::items_added);
  const std::uint64_t items = added - store_.total(counter::items_removed);
  if (items < kFewItems ||
      (items <= 2 * items_ && items >= items_ / 2 && added - added_ <= std::max(items, kFewItems))) {
    drawing_.store(false, std::memory_order_release);
    return;
  }
  items_ = items;
  added_ = added;
  worker.create<RepartitionTask>(store_.tree(), locks_, drawing_, items, worker.random()())->start(worker);
}

}  // namespace mxkv::server

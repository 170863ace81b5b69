#include "server/store/estimate_task.hpp"

#include <cmath>

#include "protocol/reply.hpp"
#include "server/store/meta_reply.hpp"

namespace mxkv::server {

using protocol::write_number;
using protocol::write_text;

EstimateTask::EstimateTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view from,
                           const RangeTally& counted, RangeState& state, const ReplyAddress& address,
                           std::uint64_t seed) noexcept
    : Base(task_class, tree, seed), RangeWalk(state, address), counted_(counted) {
  set_key(from);
}

bool EstimateTask::walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker) {
  for (unsigned i = 0; i < leaf.count; ++i) {
    const auto* line = static_cast<const std::byte*>(ItemRecord::address(leaf.values[i]));
    runtime::prefetch_read(line);
    runtime::prefetch_read(line + runtime::kCacheLineBytes);
  }
  const Liveness live{worker};
  RangeTally found;
  for (unsigned i = 0; i < leaf.count; ++i) {
    const Item::View item{*ItemRecord::item(leaf.values[i])};
    const std::string_view name = item.key();
    if (name >= key() && !state_->beyond(name) && live(item)) {
      found.add(item, name, false);
    }
  }
  if (whole) {
    counted_.items += found.items;
    counted_.bytes += found.bytes;
    walks_ = 0;
    return false;
  }
  const double items = weight * static_cast<double>(found.items);
  items_ += items;
  squares_ += items * items;
  bytes_ += weight * static_cast<double>(found.bytes);
  return ++walks_ < kWalks && worker.local<WorkerContext>().replies->find(address_) != nullptr;
}

// HD A<items> B<bytes> [~<percent>] [O<opaque>]
runtime::step EstimateTask::finished(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_range_count);
  if (ReplyQueue* queue = context.replies->find(address_)) {
    const double walks = walks_ == 0 ? 1 : walks_;
    const double mean = walks_ == 0 ? 0 : items_ / walks;
    const double variance = walks_ == 0 ? 0 : std::max(0.0, squares_ / walks - mean * mean);
    const double total = static_cast<double>(counted_.items) + mean;
    char* out = queue->reserve(address_.ticket, kMostMetaLineBytes);
    out = write_number(write_text(out, "HD A"), static_cast<std::uint64_t>(std::llround(total)));
    out = write_number(
        write_text(out, " B"),
        static_cast<std::uint64_t>(std::llround(static_cast<double>(counted_.bytes) + bytes_ / walks)));
    if (walks_ > 0) {
      // Twice the standard error of the mean.
      const double off = total == 0 ? 0 : 200 * std::sqrt(variance / walks) / total;
      out = write_number(write_text(out, " ~"), static_cast<std::uint64_t>(std::ceil(off)));
    }
    queue->commit(address_.ticket, end_meta_line(out, *state_->meta));
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

}  // namespace mxkv::server

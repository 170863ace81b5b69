#include "server/store/range/estimate_task.hpp"

#include <algorithm>
#include <cmath>

#include "protocol/reply.hpp"
#include "server/store/point/meta_reply.hpp"

namespace mxkv::server {

using protocol::write_number;
using protocol::write_text;

EstimateTask::EstimateTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view from,
                           const RangeTally& counted, RangeState& state, const ReplyAddress& address,
                           std::uint64_t seed) noexcept
    : Base(task_class, tree, seed), RangeWalk(state, address), counted_(counted) {
  MXKV_ASSERT(!state.reverse, "what was counted lies below");
  set_key(from);
}

bool EstimateTask::walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker) {
  for (unsigned i = 0; i < leaf.count; ++i) {
    runtime::prefetch_lines(ItemRecord::address(leaf.values[i]), 2);
  }
  MXKV_DCHECK(walks_ < kMostWalks, "walks come to an end");
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
    walks_ = 0;  // the range has shrunk to one leaf: earlier walks no longer count
    items_ = {};
    bytes_ = {};
    return false;
  }
  items_.add(weight * static_cast<double>(found.items));
  bytes_.add(weight * static_cast<double>(found.bytes));
  ++walks_;
  if (walks_ % kWalks == 0 && (walks_ >= kMostWalks || bytes_.margin(walks_) * items_.sum <=
                                                           1.5 * items_.margin(walks_) * bytes_.sum)) {
    return false;
  }
  return ConnectionTable::is_wanted(address_);
}

void EstimateTask::Found::add(double number) noexcept {
  sum += number;
  squares += number * number;
  cubes += number * number * number;
}

// The factor is Johnson's correction of Student's interval for a skewed population, at two standard errors.
double EstimateTask::Found::margin(double walks) const noexcept {
  const double mean = sum / walks;
  const double variance = squares / walks - mean * mean;
  if (variance <= 0) {
    return 0;
  }
  const double third = cubes / walks - 3 * mean * squares / walks + 2 * mean * mean * mean;
  const double skew = std::max(0.0, third / (variance * std::sqrt(variance)));
  return 2 * std::sqrt(variance / walks) * (1 + 0.75 * skew / std::sqrt(walks));
}

// HD A<items> B<bytes> [~<percent>] [O<opaque>]
runtime::step EstimateTask::finished(runtime::Worker& worker) {
  MXKV_ASSERT(items_.sum >= 0 && bytes_.sum >= items_.sum, "an item has one byte or more");
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_range_count);
  if (ReplyQueue* queue =
          context.replies->find(address_, seen(context))) {  // what was counted; not the estimate
    const double walks = walks_ == 0 ? 1 : walks_;
    const double items = static_cast<double>(counted_.items) + items_.sum / walks;
    const double bytes = static_cast<double>(counted_.bytes) + bytes_.sum / walks;
    char* out = queue->reserve(address_.ticket, kMostMetaLineBytes);
    out = write_number(write_text(out, "HD A"), static_cast<std::uint64_t>(std::llround(items)));
    out = write_number(write_text(out, " B"), static_cast<std::uint64_t>(std::llround(bytes)));
    if (walks_ > 0) {
      const auto percent = [walks](const Found& found, double total) {
        return total == 0 ? 0 : 100 * found.margin(walks) / total;
      };
      const double off = std::max(percent(items_, items), percent(bytes_, bytes));
      out = write_number(write_text(out, " ~"), static_cast<std::uint64_t>(std::ceil(off)));
    }
    queue->commit(address_.ticket, end_meta_line(out, *state_->meta));
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

}  // namespace mxkv::server

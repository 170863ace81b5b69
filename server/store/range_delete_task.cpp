#include "server/store/range_delete_task.hpp"

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "server/reply/reply_directory.hpp"
#include "server/store/meta_reply.hpp"
#include "server/store/seen_items.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

RangeDeleteTask::RangeDeleteTask(const runtime::TaskClass* task_class, ItemTree& tree,
                                 const protocol::RangeRequest& request, const RangeLimits& limits,
                                 RangeState& state, const ReplyAddress& address,
                                 std::uint64_t now_ns) noexcept
    : Base(task_class, tree), RangeWalk(state, address) {
  limit(request, limits, now_ns);
  set_bounds(request);
}

verdict RangeDeleteTask::judge(std::uint64_t /*head*/, std::uint64_t value, RemovedOfLeaf& leaf,
                               runtime::Worker& worker) const noexcept {
  const Item& item = *ItemRecord::item(value);
  const std::string_view found = item.key();
  if (state_->beyond(found)) {
    return verdict::stop;
  }
  if (state_->skip_start && found == key()) {
    return verdict::keep;
  }
  if (!is_live(item, worker)) {
    return verdict::erase;
  }
  const std::uint64_t removed = state_->items + leaf.live;
  if (!leaf.timed && state_->items > 0) {
    leaf.timed = true;
    leaf.late = worker.runtime().clock().monotonic_ns() > state_->deadline_ns;
  }
  if (removed >= state_->item_limit || leaf.late) {
    leaf.more = true;
    return verdict::stop;
  }
  ++leaf.live;
  leaf.last = &item;
  return verdict::erase;
}

void RangeDeleteTask::erasing(ItemNode& leaf, std::uint64_t value) noexcept {
  leaf.raise_cas_floor(ItemRecord::item(value)->cas());
}

void RangeDeleteTask::erased(std::uint64_t value, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  Item* const item = ItemRecord::item(value);
  if (context.watch->wants(watched::kDeletions) && is_live(*item, worker)) [[unlikely]] {
    context.watch->deleted(worker, item->key(), "mx", item->value_bytes());
  }
  retire_item(worker, item);
}

void RangeDeleteTask::judged(const RemovedOfLeaf& leaf) noexcept {
  state_->items += leaf.live;
  state_->more = leaf.more;
  if (leaf.last != nullptr) {
    state_->last = leaf.last;
  }
}

step RangeDeleteTask::finished(runtime::Worker& worker) {
  if (worker.id().value() != address_.worker) {
    static_cast<void>(state_->last_written());  // while the item is there
    return go_home(*this, address_);
  }
  return resume_item(worker);
}

step RangeDeleteTask::resume_item(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_range_delete);
  context.counters.count(counter::range_deleted_items, state_->items);
  if (ReplyQueue* queue = context.replies->find(address_)) {
    if (state_->more || !state_->meta->quiet) {
      write_reply(*queue);
    }
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

// HD A<removed> [G<cursor>] [O<opaque>]
void RangeDeleteTask::write_reply(ReplyQueue& queue) {
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes + protocol::kMaxCursorBytes);
  out = protocol::write_number(protocol::write_text(out, "HD A"), state_->items);
  if (state_->more) {
    out = write_cursor(protocol::write_text(out, " G"));
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

}  // namespace mxkv::server

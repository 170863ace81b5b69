#include "server/store/range/range_touch_task.hpp"

#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/upkeep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::verdict;
using runtime::step;

RangeTouchTask::RangeTouchTask(const runtime::TaskClass* task_class, ItemTree& tree,
                               const protocol::Request& request, const RangeLimits& limits, RangeState& state,
                               const ReplyAddress& address, std::uint64_t now_ns) noexcept
    : Base(task_class, tree), DividedWalk(state, address, limits.splitting), exptime_(request.exptime) {
  MXKV_ASSERT(state.meta != nullptr, "mt comes with flags");
  expect_division();
  limit(request.range, limits, now_ns);
  limit_whole(request.range, limits);
  set_bounds(request.range);
}

RangeTouchTask::RangeTouchTask(const runtime::TaskClass* task_class, const RangeTouchTask& whole,
                               RangePartTask& part, runtime::Worker& worker)
    : Base(task_class, whole.tree()),
      DividedWalk(part, whole.address_, worker),
      exptime_(whole.exptime_),
      expiry_(whole.expiry_),
      prepares_(whole.prepares_) {}

void RangeTouchTask::begin(RangeLock& lock, runtime::Worker& worker) {
  hold(lock, worker);
  note_start();
  expiry_ = expiry_from(exptime_, {state_->moment_us, worker.runtime().clock()});
  start(worker);
}

verdict RangeTouchTask::judge(std::uint64_t /*head*/, std::uint64_t value, TouchedOfLeaf& leaf,
                              runtime::Worker& worker) const noexcept {
  const Item& item = *ItemRecord::item(value);
  if (is_beyond(item) || is_futile()) {
    return verdict::stop;
  }
  if (is_to_divide()) {
    leaf.divides = true;
    return verdict::stop;
  }
  if (is_skipped(item) || !Liveness{worker, state_->moment_us}(Item::View{item})) {
    return verdict::keep;
  }
  if (state_->items + leaf.live == state_->item_limit) {
    leaf.more = true;
    return verdict::stop;
  }
  ++leaf.live;
  if (prepares_) {
    return expiry_ == 0 || item.has_expiry_field() ? verdict::keep : verdict::replace;
  }
  return item.has_expiry_field() ? verdict::change : verdict::keep;
}

std::uint64_t RangeTouchTask::replacement(std::uint64_t value, runtime::Worker& worker) noexcept {
  const Item& item = *ItemRecord::item(value);
  MXKV_DCHECK(prepares_ && !item.has_expiry_field(), "room is made once, and before exptimes are stored");
  Item* const copy = with_expiry(worker, item, item.expiry());
  return copy == nullptr ? 0 : ItemRecord::word(copy);
}

index::Change RangeTouchTask::replacing(ItemNode& /*leaf*/, std::uint64_t value, std::uint64_t by,
                                        runtime::Worker& /*worker*/) noexcept {
  ItemRecord::item(by)->take_version(*ItemRecord::item(value));
  return index::Change::unseen();
}

void RangeTouchTask::replaced(std::uint64_t value, std::uint64_t by, runtime::Worker& worker) {
  auto& counters = worker.local<WorkerContext>().counters;
  counters.count(counter::items_added);
  counters.count(counter::bytes_added, ItemRecord::item(by)->memory_bytes());
  retire_item(worker, ItemRecord::item(value));
}

void RangeTouchTask::unmade(std::uint64_t by, runtime::Worker& worker) noexcept {
  Item::destroy(worker, ItemRecord::item(by));
}

// The whole range has passed the commit point already.
index::Change RangeTouchTask::changing(ItemNode& leaf, std::uint64_t value,
                                       runtime::Worker& worker) noexcept {
  MXKV_DCHECK(!prepares_, "no exptime is stored before all have room");
  if (expiry_ != 0) {
    ExpirySweep::note(leaf, expiry_, worker);
  }
  return index::Change::part(next_order(order_before(ItemRecord::item(value), leaf), worker));
}

void RangeTouchTask::change_record(std::uint64_t value, runtime::Worker& /*worker*/) noexcept {
  ItemRecord::item(value)->store_expiry(expiry_);
}

void RangeTouchTask::changed(std::uint64_t value, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  if (context.watch->wants(watched::kMutations)) [[unlikely]] {
    const Item& item = *ItemRecord::item(value);
    context.watch->stored(worker, item.key(), "stored", "mt", expiry_, item.value_bytes(),
                          descriptor_of(address_));
  }
}

void RangeTouchTask::judged(const TouchedOfLeaf& leaf, runtime::Worker& worker) noexcept {
  state_->items += leaf.live;
  MXKV_ASSERT(state_->items <= state_->item_limit, "no more is touched than may be");
  state_->too_many = leaf.more;
  leaf_done(leaf.divides, worker);
}

step RangeTouchTask::out_of_memory(runtime::Worker& worker) {
  MXKV_ASSERT(prepares_, "what has begun to store exptimes needs no memory");
  if (worker.local<WorkerContext>().upkeep->makes_room(worker)) {
    worker.repin(*this);  // memory that is freed meanwhile does not wait for this pin
    aim_at_root();
    return step::later;
  }
  no_memory_ = true;
  worker.local<WorkerContext>().count_no_memory();
  return finished(worker);
}

step RangeTouchTask::finished(runtime::Worker& worker) {
  if (is_part()) {
    return end_part(*this, state_->too_many, no_memory_, worker);
  }
  MXKV_ASSERT(state_->lock != nullptr, "a touch holds its range to the end");
  MXKV_ASSERT(prepares_ || (!state_->too_many && !no_memory_), "exptimes are stored of all or none");
  if (take_division()) {
    return divide(*this, worker);
  }
  if (may_store()) {
    pass_commit_point(worker);
    return rescan(worker);
  }
  if (is_home(worker)) {
    return answer(worker);
  }
  let_go(worker);
  return go_home(*this, address_);
}

void RangeTouchTask::pass_commit_point(runtime::Worker& worker) {
  MXKV_ASSERT(may_store() && !is_part(), "the whole passes the commit point, once");
  prepares_ = false;
  state_->items = 0;
  back_to_start();
  const index::ChangedRange<std::string_view> range = changed_range();
  const std::uint64_t through = worker.local<WorkerContext>().store->mint_through(worker);
  tree().commits().pass({.change = index::Change::of(index::change::range_touched, through),
                         .value = expiry_,
                         .moment_us = state_->moment_us,
                         .range = &range},
                        worker);
}

// --- In parts ---

void RangeTouchTask::start_part(RangePartTask& part, runtime::Worker& worker) {
  worker.create<RangeTouchTask>(*this, part, worker)->start(worker);
}

void RangeTouchTask::undivided(runtime::Worker& worker) {
  drop_parts();
  start(worker);
}

void RangeTouchTask::parts_ended(runtime::Worker& worker) {
  for (const RangePart& part : parts_->ended()) {
    state_->items += part.tally.items;
    state_->too_many = state_->too_many || part.too_many;
    no_memory_ = no_memory_ || part.no_memory;
  }
  state_->too_many = state_->too_many || state_->items > state_->item_limit;
  worker.spawn(this);
}

step RangeTouchTask::resume_item(runtime::Worker& worker) {
  MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
  if (parts_ == nullptr) {
    return answer(worker);
  }
  if (take_division()) {
    begin_parts(*this, worker);
    return step::parked;
  }
  if (may_store()) {
    pass_commit_point(worker);
    if (!parts_->start_again(key(), state_->skip_start, worker)) {
      undivided(worker);
    }
    return step::parked;
  }
  return answer(worker);
}

// HD A<touched> [O<opaque>]
step RangeTouchTask::answer(runtime::Worker& worker) {
  MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
  drop_parts();
  auto& context = worker.local<WorkerContext>();
  if (state_->too_many || no_memory_) {
    return refuse(saw_change(context), no_memory_ ? protocol::kOutOfMemory : protocol::kTooManyKeys, *this,
                  worker);
  }
  context.counters.count(counter::cmd_range_touch);
  context.counters.count(counter::range_touched_items, state_->items);
  if (ReplyQueue* const queue = context.replies->find(address_, saw_change(context))) {
    if (!state_->meta->quiet) {
      char* out = queue->reserve(address_.ticket, kMostMetaLineBytes);
      out = protocol::write_number(protocol::write_text(out, "HD A"), state_->items);
      queue->commit(address_.ticket, end_meta_line(out, *state_->meta));
    }
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeTouchTask);

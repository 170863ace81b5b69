#include "server/store/point/write_task.hpp"

#include <algorithm>

#include "runtime/base/paths.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/text_reply.hpp"
#include "server/store/upkeep/upkeep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::Decision;
using runtime::step;

static_assert(sizeof(WriteTask) + sizeof(MetaWrite) + protocol::kMaxKeyBytes <= runtime::kLargestTaskBytes);

void WriteTask::wait_for_turn(runtime::Worker& worker) {
  MXKV_DCHECK(phase_ == phase::searching && request_.terms.ordered, "what has begun has had its turn");
  leave_tree(*this);
  phase_ = phase::waiting;
  worker.local<WorkerContext>().replies->await_commit(address_, seq_, this);
}

Decision WriteTask::decide_rarer(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  if (!is_turn(worker)) {
    MXKV_PATH(write_not_its_turn);
    // It keeps its pin and its place at the leaf. It waits only for writes that already run, never for a
    // client; and a write that waits for memory lets this one go.
    annotate(runtime::priority::high);  // other writes may already wait for it when its turn comes
    worker.local<WorkerContext>().replies->await_commit(address_, seq_, this);
    return {Decision::what::wait, 0};
  }
  RangeLocks& locks = *worker.local<WorkerContext>().locks;
  if (pass_.held()) [[unlikely]] {
    leave_stale_pass(locks, worker);
  }
  // Asked here, too, so that the client sees no item that is only part of an operation's work.
  if (!pass_.held() && locks.holds_off(key())) [[unlikely]] {
    return {Decision::what::refuse, 0};
  }
  drop_built(worker);
  Item* const old = found ? ItemRecord::item(old_word) : nullptr;
  return decide_client(old != nullptr && is_live(*old, worker), old, worker);
}

// The map was redrawn while it waited: its pass is for other keys.
void WriteTask::leave_stale_pass(RangeLocks& locks, runtime::Worker& worker) {
  if (!pass_.is_for(locks.slots.slot_of(key()))) {
    pass_.leave(locks, worker);
  }
}

// An operation holds the key. The write waits as one without memory does: it and those behind it keep no pin.
step WriteTask::refused(runtime::Worker& worker) {
  MXKV_PATH(write_at_gate);
  drop_built(worker);
  RangeLocks& locks = *worker.local<WorkerContext>().locks;
  if (is_home(worker)) {
    let_others_go(worker);
  }
  unpin_and_park(worker);
  annotate(runtime::WorkerId{address_.worker});
  return pass_.await(locks, locks.slots.slot_of(key()), *this) ? step::parked : step::again;
}

// Under the leaf's latch: nothing here can fail, allocate or wait.
index::Change WriteTask::commit_rarer(ItemNode& leaf, bool found, std::uint64_t old_word, std::uint64_t value,
                                      runtime::Worker& worker) noexcept {
  Item* old = found ? ItemRecord::item(old_word) : nullptr;
  const std::uint64_t before = order_before(old, leaf);
  if (decision_.fate == entry_fate::removed) [[unlikely]] {
    return index::Change::gone(
        decision_.result == point_result::deleted ? index::cause::deleted : index::cause::expired,
        next_order(before, worker));
  }
  if (decision_.fate == entry_fate::changed_in_place) [[unlikely]] {
    return commit_in_place(leaf, *old, before, worker);
  }
  MXKV_DCHECK(decision_.fate == entry_fate::replaced, "what stays is not committed");
  Item* item = ItemRecord::item(value);
  if (!keeps_version(old)) {
    return commit_put(leaf, old, *item, worker);
  }
  if (const std::uint32_t expiry = item->expiry(); expiry != 0) {
    ExpirySweep::note(leaf, expiry, worker);
  }
  item->take_version(*old);
  MXKV_DCHECK(item->has_expiry_field(), "order_before() looks at the floor for such alone");
  return index::Change::touched(next_order(before, worker), item->expiry(), item->marks());
}

index::Change WriteTask::commit_in_place(ItemNode& leaf, const Item& item, std::uint64_t before,
                                         runtime::Worker& worker) const noexcept {
  if (!is_touch(item)) {
    return index::Change::unseen();  // only the mark of the client that won it
  }
  if (decision_.expiry != 0) {
    ExpirySweep::note(leaf, decision_.expiry, worker);
  }
  return index::Change::touched(next_order(before, worker), decision_.expiry, marks_after(item));
}

void WriteTask::change_record(std::uint64_t word, runtime::Worker& /*worker*/) noexcept {
  change_in_place(*ItemRecord::item(word));
}

// A watcher exists, the reply waits for the disk, or it is not the next to leave.
step WriteTask::stored_rarer(const Item* before, Item& added, runtime::Worker& worker) {
  MXKV_PATH(write_stored_rarer);
  if (worker.local<WorkerContext>().watch->wants(~0U)) {
    tell_watchers(before, &added, worker);
  }
  shown_ = &added;
  return answer(worker);
}

step WriteTask::committed_rarer(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  MXKV_DCHECK(decision_.fate != entry_fate::stays, "what was committed has changed the entry");
  auto& context = worker.local<WorkerContext>();
  Item* added = nullptr;
  if (decision_.fate == entry_fate::replaced) {
    added = take_put();
    count_added(context, *added);
    if (puts_sent()) {
      context.counters.count(counter::total_items);
      count_of_quota(context, added->key(), quota_count::sets);
    }
    if (!found) {
      welcome_item(context, *added);
    }
    shown_ = added;
  }
  if (found && decision_.fate != entry_fate::changed_in_place) {
    retire_item(worker, ItemRecord::item(old_word));
  }
  if (worker.local<WorkerContext>().watch->wants(~0U)) [[unlikely]] {
    const Item* const before = found ? ItemRecord::item(old_word) : nullptr;
    tell_watchers(before, added == nullptr ? before : added, worker);
  }
  count(worker, decision_.result != point_result::not_found);
  return answer(worker);
}

// If there was no memory to make the new item from the old one, it waits as if the tree had none.
step WriteTask::left(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  MXKV_DCHECK(decision_.fate == entry_fate::stays, "what was decided is not left undone");
  step next{};
  if (lacks_memory() && waits_for_room(worker, next)) [[unlikely]] {
    MXKV_PATH(write_derived_without_memory);
    return next;
  }
  pass_.leave(*worker.local<WorkerContext>().locks, worker);
  drop_built(worker);
  if (over_quota()) [[unlikely]] {
    count_of_quota(worker.local<WorkerContext>(), key(), quota_count::refused);
  }
  if (worker.local<WorkerContext>().watch->wants(~0U)) [[unlikely]] {
    const Item* const before = found ? ItemRecord::item(old_word) : nullptr;
    tell_watchers(before, before, worker);
  }
  count(worker, decision_.result != point_result::not_found && decision_.result != point_result::not_stored);
  return answer(worker);
}

step WriteTask::out_of_memory(runtime::Worker& worker) {
  MXKV_PATH(write_without_memory);
  if (step next{}; waits_for_room(worker, next)) {
    return next;
  }
  pass_.leave(*worker.local<WorkerContext>().locks, worker);
  drop_built(worker);
  set_lacks_memory();
  worker.local<WorkerContext>().count_no_memory();
  return answer(worker);
}

/// True: memory is being freed, and the task decides anew afterwards. False: there is none to wait for.
bool WriteTask::waits_for_room(runtime::Worker& worker, step& next) {
  if (!worker.local<WorkerContext>().upkeep->makes_room(worker, shortage::block, room_wait_)) {
    return false;
  }
  pass_.leave(*worker.local<WorkerContext>().locks, worker);
  drop_built(worker);
  if (is_home(worker)) {
    next = wait_for_room(worker);
  } else {
    phase_ = phase::short_of_memory;  // the writes that wait for it are at home
    next = go_home(*this, address_);
  }
  return true;
}

// Memory that is freed meanwhile must not wait for this task's pin, nor for pins of the writes behind it.
step WriteTask::wait_for_room(runtime::Worker& worker) {
  MXKV_DCHECK(is_home(worker), "those that wait for it are at home");
  let_others_go(worker);
  unpin_and_park(worker);
  return step::later;
}

/// Lets go of the writes of its connection that wait for their turn.
void WriteTask::let_others_go(runtime::Worker& worker) {
  worker.local<WorkerContext>().replies->for_each_awaiting(
      address_, [&worker](runtime::MxTask* task) { static_cast<WriteTask*>(task)->unpin_and_park(worker); });
}

// The write is parked: when its turn comes it searches anew.
void WriteTask::unpin_and_park(runtime::Worker& worker) {
  MXKV_DCHECK(phase_ != phase::answering, "what is answered does not search anew");
  MXKV_PATH(write_lets_go);
  leave_tree(*this);
  phase_ = phase::waiting;
  worker.unpin(*this);
}

// Parked at home, or back home to answer.
step WriteTask::resume_outside(runtime::Worker& worker) {
  switch (phase_) {
    case phase::searching:
      break;
    case phase::waiting:
      phase_ = phase::searching;
      annotate(runtime::WorkerId{runtime::Annotations::kAnyWorker});
      worker.pin(*this);
      return restart(false);
    case phase::short_of_memory:
      return wait_for_room(worker);
    case phase::answering:
      return answer(worker);
  }
  MXKV_ASSERT(false, "what searches is in the tree");
}

step WriteTask::answer(runtime::Worker& worker) {
  if (!is_home(worker)) {
    phase_ = phase::answering;
    return go_home(*this, address_);
  }
  auto& context = worker.local<WorkerContext>();
  if (lacks_memory()) {
    (void)context.upkeep->makes_room(worker, shortage::block, room_wait_);  // for the next write
  }
  ConnectionTable& replies = *context.replies;
  ReplyQueue* const queue = replies.find(address_, saw_change(context));
  answer_client(queue, address_.ticket, worker);
  if (queue != nullptr) {
    queue->close(address_.ticket);
  }
  drop_items(worker);
  worker.unpin(*this);
  if (request_.terms.ordered) {
    replies.finished_write(address_, seq_);
  } else {
    replies.finished(address_);
  }
  return step::done;
}

void WriteTask::discard(runtime::Worker& worker) {
  drop_items(worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::WriteTask);

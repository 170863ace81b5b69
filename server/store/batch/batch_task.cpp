#include "server/store/batch/batch_task.hpp"

#include <utility>

#include "server/reply/connection_table.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/upkeep.hpp"

namespace mxkv::server {

using index::Decision;
using runtime::step;

namespace {

/// An expiry that has passed on any server (steady seconds).
constexpr std::uint32_t kLongAgo = 1;
/// Replies up to so many bytes do not ask for room.
constexpr std::size_t kAlwaysRoom = std::size_t{16} << 10U;

}  // namespace

Decision BatchKeyTask::decide(bool found, std::uint64_t old, runtime::Worker& worker) {
  if (phase_ == batch_phase::look_up) {
    return look_up(found, old, worker);
  }
  if (phase_ == batch_phase::apply && key_->maker != nullptr) {
    MXKV_DCHECK(found, "there is an entry for each key");
    return {Decision::what::put, ItemRecord::word(key_->current)};
  }
  return found ? Decision{Decision::what::remove, 0} : Decision{};
}

Decision BatchKeyTask::look_up(bool found, std::uint64_t old, runtime::Worker& worker) {
  drop_made(worker);
  if (found) {
    Item* const item = ItemRecord::item(old);
    key_->current = key_->found = key_->placed ? nullptr : item;
    key_->order = order_before(item, here());
    return {};
  }
  key_->order = 0;
  if (!key_->may_be_made) {
    return {};
  }
  made_ = Item::create(worker, {.key = key_->name, .expiry = kLongAgo});
  if (made_ == nullptr) {
    batch_->lack_memory();
    return {};
  }
  return {Decision::what::put, ItemRecord::word(made_)};
}

// Under the leaf's latch.
index::Change BatchKeyTask::commit(ItemNode& leaf, bool /*found*/, std::uint64_t /*old*/, std::uint64_t value,
                                   runtime::Worker& worker) noexcept {
  if (phase_ == batch_phase::look_up) {  // the placeholder
    key_->order = WriteOperation::mint(*ItemRecord::item(value), leaf.order_floor(), worker);
    return index::Change::unseen();
  }
  if (phase_ ==
      batch_phase::undo) {  // no reply shows these orders, and later ones are above them all the same
    return index::Change::unseen(next_order(key_->order, worker));
  }
  if (key_->maker != nullptr) {
    if (const std::uint32_t expiry = key_->current->expiry(); expiry != 0) {
      ExpirySweep::note(leaf, expiry, worker);
    }
  }
  return key_->part;
}

step BatchKeyTask::committed(bool found, std::uint64_t old, runtime::Worker& worker) {
  MXKV_DCHECK(phase_ != batch_phase::look_up || !found, "an entry that is there is only looked up");
  auto& context = worker.local<WorkerContext>();
  Item* added = nullptr;
  if (phase_ == batch_phase::look_up) {
    MXKV_ASSERT(!key_->placed && made_ != nullptr, "an entry is placed once");
    key_->placed = true;
    added = std::exchange(made_, nullptr);
  } else if (phase_ == batch_phase::apply && key_->maker != nullptr) {
    added = key_->maker->take();
    if (key_->placed) {
      welcome_item(context, *added);
    }
  }
  if (added != nullptr) {
    count_added(context, *added);
  }
  if (found) {
    retire_item(worker, ItemRecord::item(old));
  }
  return ended(worker);
}

step BatchKeyTask::left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
  drop_made(worker);
  return ended(worker);
}

step BatchKeyTask::out_of_memory(runtime::Worker& worker) {
  batch_->lack_memory();
  return left(false, 0, worker);
}

void BatchKeyTask::drop_made(runtime::Worker& worker) noexcept {
  if (made_ != nullptr) {
    Item::destroy(worker, std::exchange(made_, nullptr));
  }
}

step BatchKeyTask::ended(runtime::Worker& worker) {
  batch_->key_ended(worker);
  return step::done;
}

void BatchKeyTask::discard(runtime::Worker& worker) {
  drop_made(worker);
  batch_->key_discarded(worker);
}

void BatchTask::begin(RangeLock& lock, runtime::Worker& worker) {
  MXKV_ASSERT(lock_ == nullptr, "a batch holds its keys once");
  lock_ = &lock;
  at_ = worker.id();
  moment_us_ = worker.now_us();
  worker.pin(*this);
  static_cast<void>(start(batch_phase::look_up, worker));
}

// Counts as parked from the first spawn on: the last key's task may end on another worker at any time.
step BatchTask::start(batch_phase phase, runtime::Worker& worker) {
  MXKV_DCHECK(phase_ == batch_phase::look_up, "what is applied or undone is so once");
  phase_ = phase;
  std::vector<BatchKey>& keys = batch_->keys();
  const auto takes_part = [phase](const BatchKey& key) {
    return phase == batch_phase::look_up || (phase == batch_phase::apply ? key.changed() : key.placed);
  };
  const auto count = static_cast<std::uint32_t>(std::count_if(keys.begin(), keys.end(), takes_part));
  annotate(phase == batch_phase::look_up ? at_ : runtime::WorkerId{address_.worker});
  if (count == 0) {
    return step::again;
  }
  left_.store(count, std::memory_order_relaxed);
  std::uint32_t started = 0;
  for (auto key = keys.begin(); started < count; ++key) {
    if (takes_part(*key)) {
      ++started;
      worker.create<BatchKeyTask>(*tree_, *this, *key, phase)->start(worker);
    }
  }
  return step::parked;
}

void BatchTask::key_ended(runtime::Worker& worker) noexcept {
  const std::uint32_t left = left_.fetch_sub(1, std::memory_order_acq_rel);
  MXKV_ASSERT(left > 0, "a key ends once");
  if (left == 1) {
    worker.spawn(this);
  }
}

void BatchTask::key_discarded(runtime::Worker& worker) noexcept {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    task_class().discard(*this, worker);
  }
}

step BatchTask::execute(runtime::Worker& worker) {
  if (std::exchange(waits_, false)) {
    return start(batch_phase::look_up, worker);
  }
  return phase_ == batch_phase::look_up ? after_look_up(worker) : answer(worker);
}

step BatchTask::after_look_up(runtime::Worker& worker) {
  MXKV_ASSERT(left_.load(std::memory_order_relaxed) == 0, "all keys were looked up");
  if (lacks_memory_.load(std::memory_order_relaxed)) {
    batch_->set_lacked_memory();
  } else if (const Liveness live{worker, moment_us_}; decided_ || batch_->decide(live, worker)) {
    const std::size_t reply_bytes = batch_->reply_bytes();
    if (reply_bytes > kAlwaysRoom && worker.id().value() != address_.worker) {
      decided_ = true;
      at_ = runtime::WorkerId{address_.worker};
      annotate(at_);
      return step::again;
    }
    if (has_room(reply_bytes, worker)) {
      batch_->pass(tree_->commits(), worker);
      return start(batch_phase::apply, worker);
    }
    batch_->refuse_reply();
  }
  if (batch_->lacked_memory() &&
      worker.local<WorkerContext>().upkeep->makes_room(worker, shortage::block, room_wait_)) {
    batch_->forget(worker);
    lacks_memory_.store(false, std::memory_order_relaxed);
    worker.repin(*this);
    waits_ = true;
    return step::later;
  }
  return start(batch_phase::undo, worker);
}

// Asked before anything is changed, so that a batch whose replies do not fit can still be refused.
bool BatchTask::has_room(std::size_t reply_bytes, runtime::Worker& worker) {
  return reply_bytes <= kAlwaysRoom || reply_bytes <= worker.local<WorkerContext>().replies->share().free();
}

step BatchTask::answer(runtime::Worker& worker) {
  MXKV_ASSERT(left_.load(std::memory_order_relaxed) == 0, "no key is under way when its batch is answered");
  MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
  MXKV_DCHECK(phase_ != batch_phase::look_up, "a batch is answered when it was applied or undone");
  const auto& context = worker.local<WorkerContext>();
  ConnectionTable& replies = *context.replies;
  ReplyQueue* const queue = replies.find(address_, saw_change(context));
  batch_->answer(queue, address_.ticket, worker);
  if (queue != nullptr) {
    queue->close(address_.ticket);
  }
  batch_->abandon(worker);
  worker.unpin(*this);
  replies.finished(address_);
  lock_->release(worker);
  return step::parked;  // until the lock calls released()
}

void BatchTask::released(runtime::Worker& worker) {
  delete batch_;
  worker.finish(*this);
}

void BatchTask::discard(runtime::Worker& worker) {
  batch_->abandon(worker);
  delete batch_;
  if (lock_ != nullptr) {
    lock_->task_class().discard(*lock_, worker);
  }
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::BatchTask);

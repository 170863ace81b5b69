#include "server/store/store.hpp"

#include <algorithm>

#include "protocol/reply.hpp"
#include "server/store/batch/batch_task.hpp"
#include "server/store/locks/repartition_task.hpp"
#include "server/store/point/get_task.hpp"
#include "server/store/point/meta_get_task.hpp"
#include "server/store/point/write_task.hpp"
#include "server/store/range/count_task.hpp"
#include "server/store/range/dump_task.hpp"
#include "server/store/range/range_delete_task.hpp"
#include "server/store/range/range_touch_task.hpp"

namespace mxkv::server {

using protocol::verb;

namespace {

/// Room above the greatest cas unique known, for those that other workers mint while the tree is cleared.
constexpr std::uint64_t kMintSlack = 1U << 16U;

/// Clears the tree for a client that waits. Holds all keys meanwhile.
class FlushTask final : public index::ClearTask<FlushTask, ItemTraits> {
 public:
  static constexpr const char* kName = "flush_all";

  FlushTask(const runtime::TaskClass* task_class, Store& store, const ReplyAddress& address) noexcept
      : ClearTask(task_class, store.tree(), 0), store_(store), address_(address) {}

  // --- For RangeLock ---
  [[nodiscard]] static runtime::SlotInterval held_slots(const KeyPartition& slots) noexcept {
    return slots.all();
  }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker) {
    lock_ = &lock;
    set_cas_floor(store_.greatest_cas(worker.now_us()) + kMintSlack);
    start(worker);
  }

  runtime::step cleared(bool done, runtime::Worker& worker) {
    done_ = done;
    if (worker.id().value() != address_.worker) {
      return go_home(*this, address_);
    }
    return answer(worker);
  }
  runtime::step execute(runtime::Worker& worker) {
    return object() ? ClearTask::execute(worker) : answer(worker);
  }
  void discard(runtime::Worker& worker) {
    if (lock_ != nullptr) {
      lock_->task_class().discard(*lock_, worker);
    }
  }

 private:
  runtime::step answer(runtime::Worker& worker) {
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address_, done_ ? protocol::kOk : protocol::kOutOfMemory);
    worker.unpin(*this);
    lock_->release(worker);
    replies.finished(address_);
    return runtime::step::done;
  }

  Store& store_;
  RangeLock* lock_ = nullptr;
  ReplyAddress address_;
  bool done_ = false;
};

/// At once, or when its range is held.
template <class Task>
void begin(Task* task, bool locked, RangeLocks& locks, runtime::Worker& worker) {
  if (locked) {
    RangeLock::create(worker, locks, *task, worker.id())->start(worker);
  } else {
    task->start(worker);
  }
}

}  // namespace

Store::Store(runtime::Runtime& runtime, const StoreOptions& options)
    : item_kind_(runtime.add_reclaim_kind(
          [](runtime::Worker& worker, void* item) { Item::destroy(worker, static_cast<Item*>(item)); })),
      tree_(runtime, options.tree),
      locks_(runtime, options.toggle),
      contexts_(std::make_unique<WorkerContext[]>(runtime.worker_count())),
      workers_(runtime.worker_count()),
      evacuates_(options.evacuation),
      evicts_(options.evict) {
  set_limits(options.ranges, options.value_bytes);
  for (std::size_t i = 0; i < workers_; ++i) {
    contexts_[i].store = this;
    contexts_[i].locks = &locks_;
    contexts_[i].flush_points = &flush_points_;
    contexts_[i].watch = &watch_hub_;
    runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).set_local(&contexts_[i]);
  }
}

void Store::set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept {
  value_limit_.store(value_bytes, std::memory_order_relaxed);
  range_items_.store(ranges.items, std::memory_order_relaxed);
  range_bytes_.store(ranges.bytes, std::memory_order_relaxed);
  range_time_ns_.store(ranges.time_ns, std::memory_order_relaxed);
  locked_items_.store(ranges.locked_items, std::memory_order_relaxed);
}

RangeLimits Store::range_limits() const noexcept {
  return {.items = range_items_.load(std::memory_order_relaxed),
          .bytes = range_bytes_.load(std::memory_order_relaxed),
          .time_ns = range_time_ns_.load(std::memory_order_relaxed),
          .locked_items = locked_items_.load(std::memory_order_relaxed)};
}

void Store::get(runtime::Worker& worker, std::string_view key, verb op, std::int64_t exptime, bool end_line,
                const ReplyAddress& address) {
  if (op == verb::gat || op == verb::gats) {
    const WriteRequest request{
        .operand = static_cast<std::uint64_t>(exptime), .op = op, .end_line = end_line, .in_order = false};
    worker.create_sized<WriteTask>(sizeof(WriteTask) + key.size(), tree_, key, request, address)
        ->begin(worker);
    return;
  }
  const ReplyForm form{.with_cas = op == verb::gets, .end_line = end_line};
  worker.create_sized<GetTask>(sizeof(GetTask) + key.size(), tree_, key, form, address)->start(worker);
}

void Store::meta_get(runtime::Worker& worker, std::string_view key, verb op, const protocol::MetaFlags& flags,
                     const ReplyAddress& address) {
  context(worker.id()).counters.count(counter::cmd_meta);
  if (op == verb::meta_get && flags.changes_item()) {
    const WriteRequest request{.op = op, .in_order = false};
    create_meta_write(worker, tree_, key, flags, request, address)->begin(worker);
    return;
  }
  worker
      .create_sized<MetaGetTask>(sizeof(MetaGetTask) + key.size(), tree_, key, flags, op == verb::meta_debug,
                                 address)
      ->start(worker);
}

void Store::mutate(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address,
                   CommitSeq seq) {
  const std::uint64_t operand =
      request.op == verb::touch ? static_cast<std::uint64_t>(request.exptime) : request.delta;
  const WriteRequest write{.operand = operand, .seq = seq, .op = request.op};
  if (protocol::is_meta(request.op)) {
    context(worker.id()).counters.count(counter::cmd_meta);
    create_meta_write(worker, tree_, request.key, request.meta, write, address)->begin(worker);
    return;
  }
  worker.create_sized<WriteTask>(sizeof(WriteTask) + request.key.size(), tree_, request.key, write, address)
      ->begin(worker);
}

void Store::store(runtime::Worker& worker, ItemBuilder&& builder, const ReplyAddress& address,
                  CommitSeq seq) {
  const WriteRequest write{.operand = builder.cas_unique(), .seq = seq, .op = builder.op()};
  if (builder.op() == verb::meta_set) {
    context(worker.id()).counters.count(counter::cmd_meta);
    worker
        .create_sized<WriteTask>(sizeof(WriteTask) + sizeof(MetaWrite), tree_, builder.take(), builder.meta(),
                                 write, address)
        ->begin(worker);
    return;
  }
  worker.create<WriteTask>(tree_, builder.take(), write, address)->begin(worker);
}

// Looked at when an operation needs the map: where there are none, nobody draws. It no longer fits when there
// are twice or half as many items as then, or as many others have come as there are.
void Store::look_at_slots(runtime::Worker& worker) {
  constexpr std::uint64_t kEveryNs = 1'000'000'000;
  constexpr std::uint64_t kFewItems = 256;
  const std::uint64_t now_ns = worker.now_ns();
  if (now_ns - drawn_ns_.load(std::memory_order_relaxed) < kEveryNs ||
      drawing_.exchange(true, std::memory_order_acquire)) {
    return;
  }
  drawn_ns_.store(now_ns, std::memory_order_relaxed);
  const std::uint64_t added = total(counter::items_added);
  const std::uint64_t items = added - total(counter::items_removed);
  if (items < kFewItems || (items <= 2 * drawn_items_ && items >= drawn_items_ / 2 &&
                            added - drawn_added_ <= std::max(items, kFewItems))) {
    drawing_.store(false, std::memory_order_release);
    return;
  }
  drawn_items_ = items;
  drawn_added_ = added;
  context(worker.id()).counters.count(counter::slot_maps);
  worker.create<RepartitionTask>(tree_, locks_, drawing_, items, worker.random()())->start(worker);
}

void Store::range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) {
  if (request.range.limit == 0) {
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address, protocol::kEnd);
    replies.finished(address);
    return;
  }
  RangeState* const state =
      RangeWalk::make_state(worker, request.op >= verb::meta_range ? &request.meta : nullptr);
  const bool locked = request.range.locked;
  if (locked) {
    look_at_slots(worker);
  }
  const RangeLimits limits = range_limits();
  switch (request.op) {
    case verb::meta_range_delete:
      begin(worker.create<RangeDeleteTask>(tree_, request.range, limits, *state, address, worker.now_ns()),
            locked, locks_, worker);
      return;
    case verb::meta_range_touch:
      begin(worker.create<RangeTouchTask>(tree_, request, limits, *state, address, worker.now_ns()), true,
            locks_, worker);
      return;
    case verb::meta_count:
      begin(worker.create<CountTask>(tree_, request.range, limits, *state, address, worker.now_ns()), locked,
            locks_, worker);
      return;
    default:
      begin(worker.create<RangeTask>(tree_, request.range, limits, *state, address, worker.now_ns()), locked,
            locks_, worker);
  }
}

void Store::batch(runtime::Worker& worker, std::unique_ptr<Batch> batch, const ReplyAddress& address) {
  MXKV_DCHECK(batch->missing() == 0, "a batch is whole");
  batch->settle();
  if (batch->keys().empty()) {  // it failed, or has no lines
    auto& replies = *worker.local<WorkerContext>().replies;
    ReplyQueue* const queue = replies.find(address);
    batch->answer(queue, address.ticket, worker);
    if (queue != nullptr) {
      queue->close(address.ticket);
    }
    replies.finished(address);
    return;
  }
  look_at_slots(worker);
  auto* const task = worker.create<BatchTask>(tree_, *batch.release(), address);
  RangeLock::create(worker, locks_, *task, worker.id())->start(worker);
}

void Store::dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) {
  worker.create<DumpTask>(tree_, progress, worker.runtime().clock().wall_ahead_s(), address)->start(worker);
}

void Store::count_too_large(runtime::Worker& worker) noexcept {
  context(worker.id()).counters.count(counter::store_too_large);
}

void Store::count_no_memory(runtime::Worker& worker) noexcept {
  context(worker.id()).counters.count(counter::store_no_memory);
}

std::uint64_t Store::greatest_cas(std::uint64_t now_us) const noexcept {
  std::uint64_t greatest = now_us;
  for (std::size_t i = 0; i < workers_; ++i) {
    greatest = std::max(greatest, contexts_[i].greatest_cas.load(std::memory_order_relaxed));
  }
  return greatest;
}

void Store::flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address) {
  worker.local<WorkerContext>().counters.count(counter::cmd_flush);
  const std::uint64_t now_us = worker.now_us();
  const std::uint64_t at = std::uint64_t{expiry_from(delay_s, Moment{worker})} * 1'000'000;
  if (at > now_us) {
    // Cas uniques follow the clock, so a point in time is a point in their order. The items go when they are
    // met, as expired ones do, or by a sweep.
    flush_points_.set(at, now_us);
    sweep_.expect(at);
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address, protocol::kOk);
    replies.finished(address);
    return;
  }
  if (flush_points_.next.load(std::memory_order_relaxed) > now_us) {
    flush_points_.set(now_us, now_us);  // takes the place of one that was to come
  }
  begin(worker.create<FlushTask>(*this, address), true, locks_, worker);
}

void Store::discard_waiting(runtime::Runtime& runtime) noexcept {
  locks_.toggle.discard_waiting(runtime);
  locks_.gate.discard_waiting(runtime.worker(runtime::WorkerId{0}));
}

std::uint64_t Store::take_first_expiry() noexcept {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t first = kNone;
  for (std::size_t i = 0; i < workers_; ++i) {
    first = std::min(first, contexts_[i].first_expiry.exchange(kNone, std::memory_order_relaxed));
  }
  return first == kNone ? ExpirySweep::kNever : std::uint64_t{first} * 1'000'000;
}

std::uint64_t Store::total(counter which) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < workers_; ++i) {
    sum += contexts_[i].counters.value(which);
  }
  return sum;
}

}  // namespace mxkv::server

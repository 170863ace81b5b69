#include "server/store/store.hpp"

#include <algorithm>
#include <mutex>

#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/batch/batch_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/point/get_task.hpp"
#include "server/store/point/meta_get_task.hpp"
#include "server/store/point/read_row.hpp"
#include "server/store/point/refused_request.hpp"
#include "server/store/point/where_task.hpp"
#include "server/store/point/write_row.hpp"
#include "server/store/point/write_task.hpp"
#include "server/store/range/count_task.hpp"
#include "server/store/range/dump_pages_task.hpp"
#include "server/store/range/dump_task.hpp"
#include "server/store/range/flush_task.hpp"
#include "server/store/range/range_delete_task.hpp"
#include "server/store/range/range_touch_task.hpp"

namespace mxkv::server {

using protocol::verb;

namespace {

/// Starts the task at once, or when its range is held.
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
    : state_(runtime, options.tree, options.quotas),
      locks_(runtime, options.toggle),
      upkeep_(state_, runtime.worker_count(),
              {.defragments = options.evacuation,
               .evicts = options.evict,
               .weighs_size = options.evict_large_first,
               .merge_after = options.merge_after}),
      splitting_(options.ranges.splitting) {
  if (runtime.worker_count() == 1) {
    splitting_.parts_a_worker = 0;
  }
  set_limits(options.ranges, options.value_bytes);
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    WorkerContext& context = state_.context(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    context.locks = &locks_;
    context.watch = &watch_hub_;
    context.happenings = &happenings_;
  }
}

void Store::set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept {
  state_.set_value_limit(value_bytes);
  range_items_.store(ranges.items, std::memory_order_relaxed);
  range_bytes_.store(ranges.bytes, std::memory_order_relaxed);
  range_time_ns_.store(ranges.time_ns, std::memory_order_relaxed);
  locked_items_.store(ranges.locked_items, std::memory_order_relaxed);
}

RangeLimits Store::range_limits() const noexcept {
  return {.items = range_items_.load(std::memory_order_relaxed),
          .bytes = range_bytes_.load(std::memory_order_relaxed),
          .time_ns = range_time_ns_.load(std::memory_order_relaxed),
          .locked_items = locked_items_.load(std::memory_order_relaxed),
          .splitting = splitting_};
}

// Inlined into both callers: the constants of a set then fold into the code of its task.
[[gnu::always_inline]] inline void Store::write(runtime::Worker& worker,
                                                const protocol::PointRequest& request, Item* sent,
                                                const ReplyAddress& address, CommitSeq seq) {
  if (worker.local<WorkerContext>().minds_writes) [[unlikely]] {
    write_minded(worker, request, sent, address, seq);
    return;
  }
  WriteTask::create(worker, tree(), request, sent, address, seq)->start(worker);
}

// Changes are refused, or a quota is near its limit.
void Store::write_minded(runtime::Worker& worker, const protocol::PointRequest& request, Item* sent,
                         const ReplyAddress& address, CommitSeq seq) {
  const auto& context = worker.local<WorkerContext>();
  if (context.refusal != nullptr && !request.only_reads()) {
    refuse_point(request, sent, address, seq, worker);
    return;
  }
  auto* const task = WriteTask::create(worker, tree(), request, sent, address, seq);
  if (context.quota_near_limit && state_.quotas()->may_refuse(request.key, *context.quotas)) {
    task->mind_quota();
  }
  task->start(worker);
}

void Store::point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
                  const ReplyAddress& address, CommitSeq seq) {
  MXKV_DCHECK((value != nullptr) == (request.terms.action == protocol::point_action::store),
              "a value comes with those that store it");
  if (request.is_classic_get()) [[likely]] {
    const auto how = request.end_line ? protocol::asked::last : protocol::asked::before_others;
    worker
        .create_sized<GetTask>(sizeof(GetTask) + request.key.size(), tree(), request.key,
                               static_cast<std::uint8_t>(static_cast<std::uint8_t>(how) |
                                                         (request.op == verb::gets ? GetTask::kWithCas : 0)),
                               address)
        ->start(worker);
    return;
  }
  if (request.is_meta()) {
    context(worker.id()).counters.count(counter::cmd_meta);
    if (request.only_reads()) {
      worker.create_sized<MetaGetTask>(sizeof(MetaGetTask) + request.key.size(), tree(), request, address)
          ->start(worker);
      return;
    }
  } else if (request.is_binary() && request.only_reads()) {
    auto* const task =
        worker.create_sized<GetTask>(sizeof(GetTask) + request.key.size() + sizeof(protocol::BinaryForm),
                                     tree(), request.key, GetTask::kBinary, address);
    task->answer_as(request.flags->binary);
    task->start(worker);
    return;
  }
  write(worker, request, value != nullptr ? value->take() : nullptr, address, seq);
}

std::size_t Store::set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                       const ReplyAddress& first, CommitSeq seq) {
  MXKV_PATH(write_whole);
  ReplyAddress address = first;
  std::size_t taken = 0;
  std::uint64_t meta = 0;
  // The first set that no row takes is a task, and so are all behind it: it is not their turn then.
  while (values.size() - taken >= WriteRow::kLeast && WriteRow::may_write(address, seq, worker)) {
    const std::size_t row = WriteRow::Put::next_row(values.size() - taken);
    const std::size_t stored = WriteRow::store(tree(), values.subspan(taken, row), address, seq, worker);
    address.ticket += static_cast<std::uint32_t>(stored);
    seq += static_cast<CommitSeq>(stored);
    taken += stored;
    if (stored < row) [[unlikely]] {
      break;
    }
  }
  for (const protocol::SentValue& sent : values.first(taken)) {
    meta += sent.meta ? 1 : 0;
  }
  for (const protocol::SentValue& sent : values.subspan(taken)) {
    Item* const item = Item::create_whole(worker, sent.key(), sent.value());
    if (item == nullptr) [[unlikely]] {
      break;
    }
    write(worker, protocol::usual_set(sent.key(), sent.meta), item, address, seq);
    ++address.ticket;
    ++seq;
    ++taken;
    meta += sent.meta ? 1 : 0;
  }
  if (meta != 0) {
    worker.local<WorkerContext>().counters.count(counter::cmd_meta, meta);
  }
  return taken;
}

void Store::get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
                const ReplyAddress& first) {
  if (keys.size() > 1) {
    MXKV_PATH(get_together);
  }
  ReplyAddress address = first;
  if (keys.size() >= ReadRow::kLeast && ReadRow::may_read(worker)) [[likely]] {
    do {
      const std::size_t row = ReadRow::Walk::next_row(keys.size());
      const std::size_t answered = ReadRow{tree(), keys.first(row)}.answer(with_cas, address, worker);
      address.ticket += static_cast<std::uint32_t>(answered);
      GetTask::start(worker, tree(), keys.first(row).subspan(answered), with_cas, address);
      address.ticket += static_cast<std::uint32_t>(row - answered);
      keys = keys.subspan(row);
    } while (keys.size() >= ReadRow::kLeast);
  }
  GetTask::start(worker, tree(), keys, with_cas, address);
}

void Store::range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) {
  if (request.range.limit == 0) {
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address, Seen::nothing(), protocol::kEnd);
    replies.finished(address);
    return;
  }
  if (protocol::changes_range(request.op) && refuses(address, worker)) [[unlikely]] {
    return;
  }
  RangeState* const state =
      RangeWalk::make_state(worker, protocol::is_meta_range(request.op) ? &request.meta : nullptr);
  const bool locked = request.range.locked;
  if (locked) {
    repartitioner_.tick(worker);
  }
  const RangeLimits limits = range_limits();
  switch (request.op) {
    case verb::meta_range_delete:
      begin(worker.create<RangeDeleteTask>(tree(), request.range, limits, *state, address, worker.now_ns()),
            locked, locks_, worker);
      return;
    case verb::meta_range_touch:
      begin(worker.create<RangeTouchTask>(tree(), request, limits, *state, address, worker.now_ns()), true,
            locks_, worker);
      return;
    case verb::meta_count:
      begin(worker.create<CountTask>(tree(), request.range, limits, *state, address, worker.now_ns()), locked,
            locks_, worker);
      return;
    default:
      begin(worker.create<RangeTask>(tree(), request.range, limits, *state, address, worker.now_ns()), locked,
            locks_, worker);
  }
}

std::unique_ptr<ReceivedBatch> Store::begin_batch(std::uint32_t lines) {
  return std::make_unique<Batch>(lines);
}

void Store::batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> received,
                  const ReplyAddress& address) {
  MXKV_ASSERT(received->missing() == 0, "a batch is whole");
  std::unique_ptr<Batch> batch{static_cast<Batch*>(received.release())};  // begin_batch() made it
  batch->group_by_key();
  if (const char* const reason = worker.local<WorkerContext>().refusal; reason != nullptr) [[unlikely]] {
    batch->refuse_changes(refusal_text(reason));
  }
  if (const auto& context = worker.local<WorkerContext>(); context.quota_near_limit) [[unlikely]] {
    batch->mind_quotas(*state_.quotas(), *context.quotas);
  }
  if (batch->keys().empty() || batch->failed()) {  // it was refused, or has no lines
    auto& replies = *worker.local<WorkerContext>().replies;
    ReplyQueue* const queue = replies.find(address, Seen::nothing());
    batch->answer(queue, address.ticket, worker);
    if (queue != nullptr) {
      queue->close(address.ticket);
    }
    batch->abandon(worker);
    replies.finished(address);
    return;
  }
  repartitioner_.tick(worker);
  auto* const task = worker.create<BatchTask>(tree(), *batch.release(), address);
  RangeLock::create(worker, locks_, *task, worker.id())->start(worker);
}

void Store::dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) {
  if (progress.pages() > 1) {
    DumpPagesTask::begin(tree(), progress, address, splitting_, worker);
  } else {
    DumpTask::begin(tree(), progress, address, splitting_, worker);
  }
}

void Store::sampled(runtime::Worker& worker, std::string_view key, bool gets) {
  PlaceCounters* const places = context(worker.id()).places.get();
  const bool of_quota = gets && state_.quotas() != nullptr;
  if (places != nullptr || of_quota) {
    worker
        .create_sized<WhereTask>(sizeof(WhereTask) + key.size(), tree(), key, places, worker.node(), of_quota)
        ->start(worker);
  }
}

void Store::count_too_large(runtime::Worker& worker) noexcept {
  context(worker.id()).counters.count(counter::store_too_large);
}

void Store::count_no_memory(runtime::Worker& worker) noexcept {
  context(worker.id()).count_no_memory();
}

// Under a latch, so that flush points are set in the order in which they pass the commit point.
void Store::set_flush_point(runtime::Worker& worker, std::uint64_t at_us) noexcept {
  const std::lock_guard guard{flush_latch_};
  const std::uint64_t order = state_.mint_through(worker);
  const auto change = index::Change::of(index::change::flushed, order, index::cause::deleted);
  tree().commits().pass({.change = change, .moment_us = at_us, .set_us = worker.now_us()}, worker);
  state_.flush_points().set(at_us, worker.now_us(), order);
}

bool Store::refuses(const ReplyAddress& address, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  if (context.refusal == nullptr) {
    return false;
  }
  context.replies->reply(address, Seen::nothing(), refusal_text(context.refusal));
  context.replies->finished(address);
  return true;
}

bool Store::flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                      protocol::BinaryForm form) {
  if (form.given() && worker.local<WorkerContext>().refusal != nullptr) [[unlikely]] {
    auto& replies = *worker.local<WorkerContext>().replies;
    answer_code(replies, address, Seen::nothing(), form, protocol::reply_code::refused);
    replies.finished(address);
    return false;
  }
  if (refuses(address, worker)) {
    return false;
  }
  worker.local<WorkerContext>().counters.count(counter::cmd_flush);
  upkeep_.ghosts().clear();
  const std::uint64_t now_us = worker.now_us();
  if (const std::uint64_t at = flush_time_us(delay_s, Moment{worker}); at != 0) {
    // Orders follow the clock, so a point in time is also an order. Tasks that meet such
    // items later remove them, as expired ones; so does a sweep.
    set_flush_point(worker, at);
    upkeep_.sweep().expect(at);
    const Seen seen = saw_change(worker.local<WorkerContext>());
    auto& replies = *worker.local<WorkerContext>().replies;
    answer_code(replies, address, seen, form, protocol::reply_code::done);
    replies.finished(address);
    return true;
  }
  if (state_.flush_points().next.load(std::memory_order_relaxed) > now_us) {
    set_flush_point(worker, now_us);  // replaces a delayed flush that has not happened yet
  }
  begin(worker.create<FlushTask>(state_, address, form), true, locks_, worker);
  return true;
}

void Store::resume_flush(std::uint64_t next_us, std::uint64_t before_us) noexcept {
  state_.flush_points().before.store(before_us, std::memory_order_relaxed);
  state_.flush_points().next.store(next_us, std::memory_order_relaxed);
  if (next_us != 0) {
    upkeep_.sweep().expect(next_us);
  }
}

void Store::discard_waiting(runtime::Runtime& runtime) noexcept {
  locks_.toggle.discard_waiting(runtime);
  locks_.gate.discard_waiting(runtime.worker(runtime::WorkerId{0}));
}

}  // namespace mxkv::server

#include "server/store/store.hpp"

#include <algorithm>

#include "protocol/reply.hpp"
#include "server/store/get_task.hpp"
#include "server/store/write_task.hpp"

namespace mxkv::server {

using protocol::verb;

namespace {

/// Room above the greatest cas unique known, for those that other workers mint while the tree is cleared.
constexpr std::uint64_t kMintSlack = 1U << 16U;

/// Clears the tree for a client that waits.
class FlushTask final : public index::ClearTask<FlushTask, ItemTraits> {
 public:
  static constexpr const char* kName = "flush_all";

  FlushTask(const runtime::TaskClass* task_class, ItemTree& tree, std::uint64_t cas_floor,
            const ReplyAddress& address) noexcept
      : ClearTask(task_class, tree, cas_floor), address_(address) {}

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

 private:
  runtime::step answer(runtime::Worker& worker) {
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address_, done_ ? protocol::kOk : protocol::kOutOfMemory);
    worker.unpin(*this);
    replies.finished(address_);
    return runtime::step::done;
  }

  ReplyAddress address_;
  bool done_ = false;
};

}  // namespace

bool is_live(const Item& item, runtime::Worker& worker) noexcept {
  const std::uint64_t now_us = worker.now_us();
  const std::uint64_t flushed = worker.local<WorkerContext>().store->flush_point();
  return !is_expired(item.expiry(), now_us) && (flushed > now_us || item.cas() > flushed);
}

void expire_key(runtime::Worker& worker, std::string_view key) {
  ItemTree& tree = worker.local<WorkerContext>().store->tree();
  const WriteRequest write{.op = verb::remove, .anonymous = true};
  worker.create_sized<WriteTask>(sizeof(WriteTask) + key.size(), tree, key, write, ReplyAddress{})
      ->begin(worker);
}

Store::Store(runtime::Runtime& runtime, const StoreOptions& options)
    : item_kind_(runtime.add_reclaim_kind(
          [](runtime::Worker& worker, void* item) { Item::destroy(worker, static_cast<Item*>(item)); })),
      tree_(runtime, options.tree),
      contexts_(std::make_unique<WorkerContext[]>(runtime.worker_count())),
      workers_(runtime.worker_count()),
      evacuates_(options.evacuation) {
  set_limits(options.ranges, options.value_bytes);
  for (std::size_t i = 0; i < workers_; ++i) {
    contexts_[i].store = this;
    runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).set_local(&contexts_[i]);
  }
}

void Store::set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept {
  value_limit_.store(value_bytes, std::memory_order_relaxed);
  range_items_.store(ranges.items, std::memory_order_relaxed);
  range_bytes_.store(ranges.bytes, std::memory_order_relaxed);
  range_time_ns_.store(ranges.time_ns, std::memory_order_relaxed);
}

RangeLimits Store::range_limits() const noexcept {
  return {.items = range_items_.load(std::memory_order_relaxed),
          .bytes = range_bytes_.load(std::memory_order_relaxed),
          .time_ns = range_time_ns_.load(std::memory_order_relaxed)};
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

void Store::mutate(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address,
                   CommitSeq seq) {
  const std::uint64_t operand =
      request.op == verb::touch ? static_cast<std::uint64_t>(request.exptime) : request.delta;
  const WriteRequest write{.operand = operand, .seq = seq, .op = request.op};
  worker.create_sized<WriteTask>(sizeof(WriteTask) + request.key.size(), tree_, request.key, write, address)
      ->begin(worker);
}

void Store::store(runtime::Worker& worker, ItemBuilder&& builder, const ReplyAddress& address,
                  CommitSeq seq) {
  const WriteRequest write{.operand = builder.cas_unique(), .seq = seq, .op = builder.op()};
  worker.create<WriteTask>(tree_, builder.take(), write, address)->begin(worker);
}

void Store::range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) {
  if (request.range.limit == 0) {
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address, protocol::kEnd);
    replies.finished(address);
    return;
  }
  auto* state = new (worker.allocate_block(runtime::task_block_for(sizeof(RangeState)))) RangeState;
  worker.create<RangeTask>(tree_, request.range, range_limits(), *state, address, worker.now_ns())
      ->start(worker);
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
  if (delay_s > 0) {
    // Cas uniques follow the clock, so a point in time is a point in their order. The items go when they are
    // met, as expired ones do.
    flush_point_.store(worker.now_us() + static_cast<std::uint64_t>(delay_s) * 1'000'000,
                       std::memory_order_relaxed);
    auto& replies = *worker.local<WorkerContext>().replies;
    replies.reply(address, protocol::kOk);
    replies.finished(address);
    return;
  }
  worker.create<FlushTask>(tree_, greatest_cas(worker.now_us()) + kMintSlack, address)->start(worker);
}

std::uint64_t Store::total(counter which) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < workers_; ++i) {
    sum += contexts_[i].counters.value(which);
  }
  return sum;
}

}  // namespace mxkv::server

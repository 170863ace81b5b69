#include "runtime/hierarchy/toggle.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/base/assert.hpp"
#include "runtime/hierarchy/buckets/buckets.hpp"

namespace mxkv::runtime {

Toggle::Toggle(Runtime& runtime, const ToggleOptions& options)
    : count_(options.buckets == 0 ? std::max(kLeastBuckets, runtime.worker_count()) : options.buckets),
      inner_count_(options.slots_per_bucket),
      parts_(static_cast<std::uint32_t>(count_), std::clamp(inner_count_, 1U, kMostInner)),
      hosts_(options.hosts && options.order == interval_order::toggle),
      inner_(options.inner && options.order == interval_order::toggle),
      stealing_(options.stealing && options.order == interval_order::toggle) {
  if (inner_count_ == 0 || inner_count_ > kMostInner) {
    throw std::invalid_argument("a bucket has 1 to 64 slots");
  }
  if (options.order == interval_order::queue) {
    queue_ = std::make_unique<IntervalQueue>(parts_);
  } else {
    buckets_ = std::make_unique<ToggleBuckets>(*this, runtime);
  }
}

Toggle::~Toggle() = default;

std::uint32_t Toggle::place(ToggleOperation& operation) noexcept {
  operation.map_version_ = map_version_.load(std::memory_order_acquire);  // before the map is looked at
  const ToggleOperation::Footprint footprint = operation.place_(operation);
  operation.slots_ = {footprint.slots.span, footprint.slots.parts & parts_.bits_of(footprint.slots.span)};
  operation.shared_ = footprint.shared;
  const SlotInterval& span = operation.slots_.span;
  MXKV_ASSERT(span.first <= span.last && span.last < slots(), "an operation lies within the slots");
  MXKV_ASSERT((operation.slots_.parts & parts_.bit_of(span.first)) != 0 &&
                  (operation.slots_.parts & parts_.bit_of(span.last)) != 0,
              "an operation names the parts of its first and last slot");
  operation.inner_ = false;
  operation.beside_ = 0;
  operation.wait();
  return span.first / inner_count_;
}

void Toggle::begin(ToggleOperation& operation, Worker& worker) {
  operation.begun();
  worker.spawn(&operation);
}

void Toggle::submit(ToggleOperation& operation, Worker& worker) {
  if (buckets_ != nullptr) {
    buckets_->submit(operation, worker);
  } else if (queue_->enter(operation, [this](IntervalQueue::Entry& entry) { place_in_queue(entry); })) {
    begin(operation, worker);
  }
}

void Toggle::arrived(ToggleOperation& operation, Worker& worker) {
  MXKV_ASSERT(buckets_ != nullptr, "an operation in the queue is no task until it begins");
  buckets_->arrived(operation, worker);
}

void Toggle::finished(ToggleOperation& operation, Worker& worker) {
  if (buckets_ != nullptr) {
    buckets_->finished(operation, worker);
  } else {
    leave_queue(operation, worker);
  }
}

void Toggle::place_in_queue(IntervalQueue::Entry& entry) noexcept {
  auto& operation = static_cast<ToggleOperation&>(*entry.task);
  static_cast<void>(place(operation));
  entry.slots = operation.slots_;
  entry.shared = operation.shared_;
}

void Toggle::leave_queue(ToggleOperation& operation, Worker& worker) {
  const SlotInterval& slots = operation.slots();
  operations_.fetch_add(1, std::memory_order_relaxed);
  of_many_.fetch_add(slots.last / inner_count_ > slots.first / inner_count_ ? 1 : 0,
                     std::memory_order_relaxed);
  for (MxTask* const next : queue_->leave(operation, map_version_.load(std::memory_order_acquire),
                                          [this](IntervalQueue::Entry& entry) { place_in_queue(entry); })) {
    begin(static_cast<ToggleOperation&>(*next), worker);
  }
}

ToggleStats Toggle::stats() const noexcept {
  if (buckets_ != nullptr) {
    return buckets_->stats();
  }
  return {.operations = operations_.load(std::memory_order_relaxed),
          .of_many = of_many_.load(std::memory_order_relaxed)};
}

std::size_t Toggle::discard_waiting(Runtime& runtime) noexcept {
  if (buckets_ != nullptr) {
    return buckets_->discard_waiting(runtime);
  }
  std::size_t discarded = 0;
  for (const IntervalQueue::Entry& waiting : queue_->take_waiting()) {
    waiting.task->task_class().discard(*waiting.task, runtime.worker(WorkerId{0}));
    ++discarded;
  }
  return discarded;
}

}  // namespace mxkv::runtime

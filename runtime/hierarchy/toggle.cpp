#include "runtime/hierarchy/toggle.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/hierarchy/toggle_bucket.hpp"

namespace mxkv::runtime {

namespace {

/// Tells the host of a bucket that a group does not hold it any more.
class ReleaseTask final : public MxTask {
 public:
  static constexpr const char* kName = "release bucket";
  ReleaseTask(const TaskClass* task_class, Toggle& toggle, std::uint32_t bucket, std::uint32_t first) noexcept
      : MxTask(task_class), toggle_(toggle), bucket_(bucket), first_(first) {}
  step execute(Worker& worker) {
    toggle_.released(bucket_, first_, worker);
    return step::done;
  }

 private:
  Toggle& toggle_;
  std::uint32_t bucket_;
  std::uint32_t first_;
};

}  // namespace

Toggle::Toggle(Runtime& runtime, const ToggleOptions& options)
    : count_(options.buckets == 0 ? runtime.worker_count() : options.buckets),
      inner_count_(options.slots_per_bucket),
      parts_(static_cast<std::uint32_t>(count_), std::clamp(inner_count_, 1U, kMostInner)),
      hosts_(options.hosts && options.order == interval_order::toggle),
      inner_(options.inner && options.order == interval_order::toggle),
      stealing_(options.stealing && options.order == interval_order::toggle),
      workers_(runtime.worker_count()) {
  if (inner_count_ == 0 || inner_count_ > kMostInner) {
    throw std::invalid_argument("a bucket has 1 to 64 slots");
  }
  if (options.order == interval_order::queue) {
    queue_ = std::make_unique<IntervalQueue>(parts_);
  }
  buckets_ = std::make_unique<Bucket[]>(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    buckets_[i].host = WorkerId{static_cast<std::uint16_t>(i % workers_)};
    const auto first = static_cast<std::uint32_t>(i) * inner_count_;
    buckets_[i].parts = parts_.bits_of({first, first + inner_count_ - 1});
  }
}

Toggle::~Toggle() = default;

void Toggle::submit(ToggleOperation& operation, Worker& worker) {
  if (queue_ != nullptr) {
    enter_queue(operation, worker);
    return;
  }
  go_to(operation, place(operation), worker);
}

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

void Toggle::go_to(ToggleOperation& operation, std::uint32_t bucket, Worker& worker) {
  operation.bucket_ = bucket;
  if (serves(bucket, worker)) {
    arrived(operation, worker);
    return;
  }
  send(operation, worker);
}

bool Toggle::serves(std::uint32_t bucket, const Worker& worker) const noexcept {
  return !hosts_ || buckets_[bucket].host == worker.id();
}

void Toggle::send(ToggleOperation& operation, Worker& worker) noexcept {
  operation.annotate(buckets_[operation.bucket_].host);
  worker.spawn(&operation);
}

// By messages, also to this worker: many may wait, and none is to begin inside of another.
void Toggle::place_anew(MxTask* waiting, Worker& worker) noexcept {
  auto& operation = static_cast<ToggleOperation&>(*waiting);
  operation.bucket_ = place(operation);
  send(operation, worker);
}

/// Operations that wait for the inner mode were placed by an earlier map.
void Toggle::follow_map(std::uint32_t index, Worker& worker) noexcept {
  Bucket& bucket = buckets_[index];
  const std::uint32_t version = map_version_.load(std::memory_order_acquire);
  if (bucket.map_version == version) {
    return;
  }
  bucket.map_version = version;
  bucket.inner_waiting = 0;
  bucket.row.fill(nullptr);
  for (TaskList& slot : bucket.inner) {
    while (MxTask* const waiting = slot.pop_front()) {
      place_anew(waiting, worker);
    }
  }
}

void Toggle::arrived(ToggleOperation& operation, Worker& worker) {
  const std::uint32_t index = operation.bucket_;
  const std::lock_guard guard{buckets_[index].latch};
  buckets_[index].outer.push_back(&operation);
  advance(index, worker);
}

void Toggle::released(std::uint32_t index, std::uint32_t first, Worker& worker) {
  Bucket& bucket = buckets_[index];
  const std::lock_guard guard{bucket.latch};
  if (index == first) {
    MXKV_ASSERT(bucket.leads == (bucket.held != Bucket::hold::inner), "a group, or inner mode, began here");
    bucket.leads = false;
  }
  bucket.release();
  advance(index, worker);
}

void Toggle::release(std::uint32_t bucket, std::uint32_t first, Worker& worker) {
  if (serves(bucket, worker)) {
    released(bucket, first, worker);
    return;
  }
  auto* const task = worker.create<ReleaseTask>(*this, bucket, first);
  task->annotate(buckets_[bucket].host);
  worker.spawn(task);
}

std::uint32_t Toggle::next_held(std::uint32_t bucket, std::uint32_t reach,
                                std::uint64_t parts) const noexcept {
  do {
    ++bucket;
  } while (bucket <= reach && (buckets_[bucket].parts & parts) == 0);
  return bucket;
}

// [To algorithm 1]
void Toggle::advance(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  if (!bucket.closed()) {
    follow_map(index, worker);
  }
  while (!bucket.closed()) {
    MxTask* const next = bucket.turn_of_outer() ? bucket.pop_outer() : nullptr;
    if (next == nullptr) {
      if (bucket.sharing == 0) {
        bucket.outer_in_row = 0;
        if (bucket.inner_waiting > 0) {
          open_slots(index, worker);
        }
      }
      return;
    }
    auto& operation = static_cast<ToggleOperation&>(*next);
    Bucket& first = buckets_[operation.slots().first / inner_count_];
    const bool begins_here = &first == &bucket;
    if (begins_here && operation.map_version_ != bucket.map_version) {
      place_anew(next, worker);
      continue;
    }
    if (inner_ && operation.slots().single()) {
      wait_for_inner(operation);
      continue;
    }
    const bool shares = begins_here ? operation.shared_ && !bucket.leads : !first.alone;
    if (bucket.sharing > 0 && !shares) {
      bucket.put_back = next;
      return;
    }
    ++bucket.outer_in_row;
    if (begins_here) {
      gather_followers(index, operation);
    }
    if (first.alone) {
      bucket.hold_alone();
    } else {
      bucket.share();
    }
    if (const std::uint32_t next_bucket = next_held(index, first.reach, first.reached_parts);
        next_bucket <= first.reach) {
      if (next_bucket > index + 1) {
        MXKV_PATH(toggle_leaves_out);
      }
      go_to(operation, next_bucket, worker);
    } else {
      count(bucket.operations);
      count(bucket.of_many,
            operation.slots().last / inner_count_ > operation.slots().first / inner_count_ ? 1 : 0);
      begin_outer(first, operation, worker);
    }
  }
}

void Toggle::wait_for_inner(ToggleOperation& operation) noexcept {
  Bucket& bucket = buckets_[operation.bucket_];
  const std::uint32_t slot = operation.slots().first % inner_count_;
  MXKV_ASSERT(operation.slots().single(), "an operation of inner mode touches one slot");
  operation.inner_ = true;
  bucket.inner[slot].push_back(&operation);
  Bucket::extend(bucket.row[slot], operation);
  ++bucket.inner_waiting;
}

// Each way through several buckets takes messages there and back, so the operations that would go next come
// along. So do operations that share with the last one in the group.
void Toggle::gather_followers(std::uint32_t index, ToggleOperation& leader) noexcept {
  Bucket& bucket = buckets_[index];
  MXKV_ASSERT(!bucket.leads, "one group begins at a bucket");
  bucket.leads = true;
  bucket.alone = !leader.shared_;
  bucket.reach = leader.slots().last / inner_count_;
  bucket.reached_parts = leader.slots_.parts;
  ToggleOperation* row = leader.shared_ ? &leader : nullptr;
  std::uint32_t gathered = 1;
  while ((row != nullptr || bucket.reach > index) && gathered < kMostTogether && bucket.turn_of_outer()) {
    MxTask* const next = bucket.pop_outer();
    if (next == nullptr) {
      return;
    }
    auto& operation = static_cast<ToggleOperation&>(*next);
    const bool placed =
        operation.slots().first / inner_count_ == index && operation.map_version_ == bucket.map_version;
    if (placed && inner_ && operation.slots().single()) {
      wait_for_inner(operation);
      continue;
    }
    const std::uint32_t last = operation.slots().last / inner_count_;
    const bool on_its_way =
        last > index && bucket.reach > index && (operation.shared_ || bucket.sharing == 0);
    const bool beside = operation.shared_ && row != nullptr;
    if (!placed || !(on_its_way || beside)) {
      bucket.put_back = next;
      return;
    }
    bucket.reach = std::max(bucket.reach, last);
    bucket.reached_parts |= operation.slots_.parts;
    bucket.alone = bucket.alone || !operation.shared_;
    bucket.followers.push_back(next);
    Bucket::extend(row, operation);
    bucket.followed.fetch_add(1, std::memory_order_relaxed);
    bucket.followed_of_many.fetch_add(last > index ? 1 : 0, std::memory_order_relaxed);
    ++bucket.outer_in_row;
    ++gathered;
  }
}

ToggleStats Toggle::stats() const noexcept {
  ToggleStats sum;
  for (std::size_t i = 0; i < count_; ++i) {
    sum.operations += buckets_[i].operations.load(std::memory_order_relaxed);
    sum.of_many += buckets_[i].of_many.load(std::memory_order_relaxed);
    sum.inner += buckets_[i].inner_operations.load(std::memory_order_relaxed);
    sum.phases += buckets_[i].phases.load(std::memory_order_relaxed);
    sum.stolen += buckets_[i].stolen.load(std::memory_order_relaxed);
    sum.of_many += buckets_[i].followed_of_many.load(std::memory_order_relaxed);
    sum.followed += buckets_[i].followed.load(std::memory_order_relaxed);
    sum.shared += buckets_[i].shared.load(std::memory_order_relaxed);
  }
  sum.operations += sum.followed;
  return sum;
}

std::size_t Toggle::discard_waiting(Runtime& runtime) noexcept {
  std::size_t discarded = 0;
  if (queue_ != nullptr) {
    for (const IntervalQueue::Entry& waiting : queue_->take_waiting()) {
      waiting.task->task_class().discard(*waiting.task, runtime.worker(buckets_[0].host));
      ++discarded;
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    Bucket& bucket = buckets_[i];
    Worker& host = runtime.worker(bucket.host);
    const auto drop_all = [&](TaskList& waiting) {
      while (MxTask* const task = waiting.pop_front()) {
        task->task_class().discard(*task, host);
        ++discarded;
      }
    };
    if (bucket.put_back != nullptr) {
      bucket.followers.push_back(std::exchange(bucket.put_back, nullptr));
    }
    drop_all(bucket.followers);
    drop_all(bucket.outer);
    std::for_each(bucket.inner.begin(), bucket.inner.end(), drop_all);
  }
  return discarded;
}

}  // namespace mxkv::runtime

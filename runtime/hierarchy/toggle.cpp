#include "runtime/hierarchy/toggle.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace mxkv::runtime {

namespace {

/// The counter of open slots: how many there are above, which is the next below. Who adds one to it and finds
/// the next below the number has that slot, and the phase does not end before it is through with it.
constexpr unsigned kNumberShift = 32;
constexpr std::uint64_t kNextMask = (std::uint64_t{1} << kNumberShift) - 1;
constexpr std::uint64_t kClosed = 0;

/// Tells the host of a bucket that nobody holds it any more.
class ReleaseTask final : public MxTask {
 public:
  static constexpr const char* kName = "release bucket";
  ReleaseTask(const TaskClass* task_class, Toggle& toggle, std::uint32_t bucket) noexcept
      : MxTask(task_class), toggle_(toggle), bucket_(bucket) {}
  step execute(Worker& worker) {
    toggle_.released(bucket_, worker);
    return step::done;
  }

 private:
  Toggle& toggle_;
  std::uint32_t bucket_;
};

/// Helps with the slots of a bucket in inner mode; whoever is idle takes it.
class HelpTask final : public MxTask {
 public:
  static constexpr const char* kName = "help bucket";
  HelpTask(const TaskClass* task_class, Toggle& toggle, std::uint32_t bucket) noexcept
      : MxTask(task_class), toggle_(toggle), bucket_(bucket) {}
  step execute(Worker& worker) {
    static_cast<void>(toggle_.take_slot(bucket_, worker));
    return step::done;
  }

 private:
  Toggle& toggle_;
  std::uint32_t bucket_;
};

}  // namespace

/// `host` never changes; what is not atomic belongs to the host, but the lists of slots that were taken.
struct alignas(kCacheLineBytes) Toggle::Bucket {
  WorkerId host{0};
  bool held = false;              ///< by an operation, or open
  std::uint32_t map_version = 0;  ///< by which `inner` is placed
  std::uint32_t outer_in_row = 0;
  std::uint32_t inner_waiting = 0;
  TaskList outer;
  std::array<TaskList, kMostInner> inner;
  MxTask* put_back = nullptr;  ///< before `outer`

  // Of the operation that begins here and holds the bucket; its own while it does.
  std::uint32_t reach = 0;  ///< the last bucket that is held with this one
  TaskList followers;       ///< that run when it has ended, before those buckets are released

  // [To algorithm 2] Pairs: the store that opens `next` publishes `open` and the lists to who takes a slot;
  // left publishes what was done in the slots to who takes the last one off.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next{kClosed};
  std::atomic<std::uint32_t> left{0};
  std::array<std::uint32_t, kMostInner> open{};

  // Relaxed: statistics. `stolen` and `followed` have many writers, the others the host.
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> of_many{0};
  std::atomic<std::uint64_t> inner_operations{0};
  std::atomic<std::uint64_t> phases{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> followed{0};

  [[nodiscard]] MxTask* pop_outer() noexcept {
    return put_back != nullptr ? std::exchange(put_back, nullptr) : outer.pop_front();
  }
};

Toggle::Toggle(Runtime& runtime, const ToggleOptions& options)
    : count_(options.buckets == 0 ? runtime.worker_count() : options.buckets),
      inner_count_(options.slots_per_bucket),
      inner_(options.inner),
      stealing_(options.stealing),
      workers_(runtime.worker_count()) {
  if (inner_count_ == 0 || inner_count_ > kMostInner) {
    throw std::invalid_argument("a bucket has 1 to 64 slots");
  }
  buckets_ = std::make_unique<Bucket[]>(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    buckets_[i].host = WorkerId{static_cast<std::uint16_t>(i % workers_)};
  }
}

Toggle::~Toggle() = default;

void Toggle::submit(ToggleOperation& operation, Worker& worker) {
  go_to(operation, place(operation), worker);
}

std::uint32_t Toggle::place(ToggleOperation& operation) noexcept {
  operation.map_version_ = map_version_.load(std::memory_order_acquire);  // before the map is looked at
  operation.slots_ = operation.place_(operation);
  MXKV_DCHECK(operation.slots_.first <= operation.slots_.last && operation.slots_.last < slots(),
              "an operation lies within the slots");
  operation.inner_ = false;
  operation.phase_ = ToggleOperation::phase::waiting;
  return operation.slots_.first / inner_count_;
}

void Toggle::go_to(ToggleOperation& operation, std::uint32_t bucket, Worker& worker) {
  operation.bucket_ = bucket;
  if (buckets_[bucket].host == worker.id()) {
    arrived(operation, worker);
    return;
  }
  send(operation, worker);
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

/// What waits for the inner mode was placed by the map of then.
void Toggle::follow_map(std::uint32_t index, Worker& worker) noexcept {
  Bucket& bucket = buckets_[index];
  const std::uint32_t version = map_version_.load(std::memory_order_acquire);
  if (bucket.map_version == version) {
    return;
  }
  bucket.map_version = version;
  bucket.inner_waiting = 0;
  for (TaskList& slot : bucket.inner) {
    while (MxTask* const waiting = slot.pop_front()) {
      place_anew(waiting, worker);
    }
  }
}

void Toggle::arrived(ToggleOperation& operation, Worker& worker) {
  buckets_[operation.bucket_].outer.push_back(&operation);
  advance(operation.bucket_, worker);
}

void Toggle::released(std::uint32_t bucket, Worker& worker) {
  buckets_[bucket].held = false;
  advance(bucket, worker);
}

void Toggle::release(std::uint32_t bucket, Worker& worker) {
  if (buckets_[bucket].host == worker.id()) {
    released(bucket, worker);
    return;
  }
  auto* const task = worker.create<ReleaseTask>(*this, bucket);
  task->annotate(buckets_[bucket].host);
  worker.spawn(task);
}

// [To algorithm 1]
void Toggle::advance(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  if (!bucket.held) {
    follow_map(index, worker);
  }
  while (!bucket.held) {
    MxTask* const next =
        bucket.outer_in_row < kOuterInRow || bucket.inner_waiting == 0 ? bucket.pop_outer() : nullptr;
    if (next == nullptr) {
      bucket.outer_in_row = 0;
      if (bucket.inner_waiting == 0) {
        return;
      }
      open_slots(index, worker);
      return;
    }
    auto& operation = static_cast<ToggleOperation&>(*next);
    const bool begins_here = operation.slots_.first / inner_count_ == index;
    if (begins_here && operation.map_version_ != bucket.map_version) {
      place_anew(next, worker);
      continue;
    }
    if (inner_ && operation.slots_.single()) {
      wait_for_inner(operation);
      continue;
    }
    bucket.held = true;
    ++bucket.outer_in_row;
    if (begins_here) {
      bucket.reach = operation.slots_.last / inner_count_;
      gather_followers(index);
    }
    if (buckets_[operation.slots_.first / inner_count_].reach > index) {
      go_to(operation, index + 1, worker);
    } else {
      count(bucket.operations);
      count(bucket.of_many, begins_here ? 0 : 1);
      begin(operation, worker);
    }
    return;
  }
}

void Toggle::wait_for_inner(ToggleOperation& operation) noexcept {
  Bucket& bucket = buckets_[operation.bucket_];
  operation.inner_ = true;
  bucket.inner[operation.slots_.first % inner_count_].push_back(&operation);
  ++bucket.inner_waiting;
}

// Each way through several buckets takes messages there and back, so those that would go next come along.
void Toggle::gather_followers(std::uint32_t index) noexcept {
  Bucket& bucket = buckets_[index];
  std::uint32_t together = 1;
  while (bucket.reach > index && together < kMostTogether &&
         (bucket.outer_in_row < kOuterInRow || bucket.inner_waiting == 0)) {
    MxTask* const next = bucket.pop_outer();
    if (next == nullptr) {
      return;
    }
    auto& operation = static_cast<ToggleOperation&>(*next);
    const bool placed =
        operation.slots_.first / inner_count_ == index && operation.map_version_ == bucket.map_version;
    if (placed && operation.slots_.last / inner_count_ > index) {
      bucket.reach = std::max(bucket.reach, operation.slots_.last / inner_count_);
      bucket.followers.push_back(next);
      ++bucket.outer_in_row;
      ++together;
    } else if (placed && inner_ && operation.slots_.single()) {
      wait_for_inner(operation);
    } else {
      bucket.put_back = next;
      return;
    }
  }
}

void Toggle::open_slots(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  std::uint32_t open = 0;
  for (std::uint32_t slot = 0; slot < inner_count_; ++slot) {
    if (!bucket.inner[slot].empty()) {
      bucket.open[open++] = slot;
    }
  }
  count(bucket.phases);
  count(bucket.operations, bucket.inner_waiting);
  count(bucket.inner_operations, bucket.inner_waiting);
  bucket.inner_waiting = 0;
  bucket.held = true;
  bucket.left.store(open, std::memory_order_relaxed);
  bucket.next.store(std::uint64_t{open} << kNumberShift, std::memory_order_release);
  if (stealing_) {
    for (std::size_t n = std::min<std::size_t>(open, workers_); n > 1; --n) {
      auto* const task = worker.create<HelpTask>(*this, index);
      task->annotate(locality::immediate);
      worker.spawn(task);
    }
  }
  static_cast<void>(take_slot(index, worker));
}

bool Toggle::take_slot(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  const std::uint64_t counter = bucket.next.fetch_add(1, std::memory_order_acq_rel);
  const std::uint64_t n = counter & kNextMask;
  if (n >= counter >> kNumberShift) {
    return false;
  }
  if (bucket.host != worker.id()) {
    bucket.stolen.fetch_add(1, std::memory_order_relaxed);
  }
  begin(static_cast<ToggleOperation&>(*bucket.inner[bucket.open[n]].pop_front()), worker);
  return true;
}

void Toggle::begin(ToggleOperation& operation, Worker& worker) {
  operation.phase_ = ToggleOperation::phase::running;
  operation.annotate(WorkerId{Annotations::kAnyWorker});
  worker.spawn(&operation);
}

void Toggle::finished(ToggleOperation& operation, Worker& worker) {
  const SlotInterval slots = operation.slots_;
  const std::uint32_t first = slots.first / inner_count_;
  Bucket& bucket = buckets_[first];
  if (!operation.inner_) {
    while (MxTask* const follower = bucket.followers.pop_front()) {
      auto& next = static_cast<ToggleOperation&>(*follower);
      if (next.map_version_ == map_version_.load(std::memory_order_acquire)) {
        bucket.followed.fetch_add(1, std::memory_order_relaxed);
        begin(next, worker);
        return;
      }
      place_anew(follower, worker);
    }
    const std::uint32_t reach = bucket.reach;
    for (std::uint32_t held = first; held <= reach; ++held) {
      release(held, worker);
    }
    return;
  }
  if (MxTask* const next = bucket.inner[slots.first % inner_count_].pop_front()) {
    begin(static_cast<ToggleOperation&>(*next), worker);
    return;
  }
  static_cast<void>(take_slot(first, worker));  // before this one counts as done: so the bucket stays open
  if (bucket.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    bucket.next.store(kClosed, std::memory_order_relaxed);
    release(first, worker);
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
    sum.followed += buckets_[i].followed.load(std::memory_order_relaxed);
  }
  sum.operations += sum.followed;
  sum.of_many += sum.followed;
  return sum;
}

std::size_t Toggle::discard_waiting(Runtime& runtime) noexcept {
  std::size_t discarded = 0;
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

// How operations in buckets begin and end: which run side by side, and which come next.
#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/hierarchy/buckets/bucket.hpp"

namespace mxkv::runtime {

namespace {

/// The counter of open slots: the high half says how many there are, the low half which is next. A worker
/// that adds one and finds the next below the number has that slot. The phase does not end before it is
/// through with it.
constexpr unsigned kNumberShift = 32;
constexpr std::uint64_t kNextMask = (std::uint64_t{1} << kNumberShift) - 1;

/// Helps with the slots of a bucket in inner mode; an idle worker takes it.
class HelpTask final : public MxTask {
 public:
  static constexpr const char* kName = "help bucket";
  HelpTask(const TaskClass* task_class, ToggleBuckets& buckets, std::uint32_t bucket) noexcept
      : MxTask(task_class), buckets_(buckets), bucket_(bucket) {}
  step execute(Worker& worker) {
    static_cast<void>(buckets_.take_slot(bucket_, worker));
    return step::done;
  }

 private:
  ToggleBuckets& buckets_;
  std::uint32_t bucket_;
};

}  // namespace

void ToggleBuckets::open_slots(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  std::uint32_t open = 0;
  for (std::uint32_t slot = 0; slot < inner_count_; ++slot) {
    if (!bucket.inner[slot].empty()) {
      bucket.open[open++] = slot;
      bucket.row[slot] = nullptr;
    }
  }
  count(bucket.phases);
  count(bucket.operations, bucket.inner_waiting);
  count(bucket.inner_operations, bucket.inner_waiting);
  bucket.inner_waiting = 0;
  bucket.open_inner();
  bucket.opener = worker.id();
  bucket.left.store(open, std::memory_order_relaxed);
  bucket.next.store(std::uint64_t{open} << kNumberShift, std::memory_order_release);
  // [To 4.4]: stealing is on while there is a worker to gain from it.
  if (stealing_ && worker.mate_idle()) {
    for (std::size_t n = std::min<std::size_t>(open, workers_); n > 1; --n) {
      auto* const task = worker.create<HelpTask>(*this, index);
      task->annotate(locality::immediate);
      worker.spawn(task);
    }
  }
  static_cast<void>(take_slot(index, worker));
}

bool ToggleBuckets::take_slot(std::uint32_t index, Worker& worker) {
  Bucket& bucket = buckets_[index];
  const std::uint64_t counter = bucket.next.fetch_add(1, std::memory_order_acq_rel);
  const std::uint64_t n = counter & kNextMask;
  if (n >= counter >> kNumberShift) {
    return false;
  }
  if (hosts_ ? bucket.host != worker.id() : bucket.opener != worker.id()) {
    MXKV_PATH(toggle_slot_stolen);
    bucket.stolen.fetch_add(1, std::memory_order_relaxed);
  }
  begin_in_slot(bucket, bucket.open[n], worker);
  return true;
}

void ToggleBuckets::begin_at(WorkerId at, ToggleOperation& operation, Worker& worker) {
  if (at == worker.id()) {
    Toggle::begin(operation, worker);
    return;
  }
  operation.sent();
  operation.annotate(at);
  worker.spawn(&operation);
}

// [To 3]: the lowest of its buckets is responsible.
void ToggleBuckets::begin_outer(Bucket& bucket, ToggleOperation& operation, Worker& worker) {
  const WorkerId at = hosts_ ? bucket.host : worker.id();
  begin_together(at, operation, bucket, bucket.followers, bucket.together, worker);
}

void ToggleBuckets::begin_together(WorkerId at, ToggleOperation& first, Bucket& bucket, TaskList& behind,
                                   std::atomic<std::uint32_t>& left, Worker& worker) {
  const std::uint32_t others = first.beside_;
  if (others == 0) {
    begin_at(at, first, worker);
    return;
  }
  // All are taken off the list before any runs: the last one to end looks at it.
  TaskList together;
  for (std::uint32_t i = 0; i < others; ++i) {
    MxTask* const next = behind.pop_front();
    MXKV_ASSERT(next != nullptr, "those that begin together follow each other");
    static_cast<ToggleOperation&>(*next).beside_ = others;
    together.push_back(next);
  }
  left.store(others + 1, std::memory_order_release);
  bucket.shared.fetch_add(others + 1, std::memory_order_relaxed);
  begin_at(at, first, worker);
  for (std::size_t turn = 1; MxTask* const next = together.pop_front(); ++turn) {
    begin_beside(at, static_cast<ToggleOperation&>(*next), turn, worker);
  }
}

// While another worker is idle. In a slot, an idle worker takes it, since other slots may be open. In an outer part
// nothing else is open. The worker that began the group would be through with its own before others took theirs:
// workers in turn.
void ToggleBuckets::begin_beside(WorkerId at, ToggleOperation& operation, std::size_t turn, Worker& worker) {
  const bool shares = stealing_ && worker.mate_idle();
  if (shares && operation.inner_) {
    operation.annotate(locality::immediate);
    Toggle::begin(operation, worker);
    return;
  }
  begin_at(shares ? WorkerId{static_cast<std::uint16_t>((at.index() + turn) % workers_)} : at, operation,
           worker);
}

bool ToggleBuckets::begin_in_slot(Bucket& bucket, std::uint32_t slot, Worker& worker) {
  MxTask* const next = bucket.inner[slot].pop_front();
  if (next == nullptr) {
    return false;
  }
  begin_together(worker.id(), static_cast<ToggleOperation&>(*next), bucket, bucket.inner[slot],
                 bucket.together_in_slot[slot], worker);
  return true;
}

void ToggleBuckets::finished(ToggleOperation& operation, Worker& worker) {
  const std::uint32_t first = operation.slots().first / inner_count_;
  const std::uint32_t slot = operation.slots().first % inner_count_;
  Bucket& bucket = buckets_[first];
  const bool inner = operation.inner_;
  if (operation.beside_ > 0) {
    std::atomic<std::uint32_t>& left = inner ? bucket.together_in_slot[slot] : bucket.together;
    const std::uint32_t under_way = left.fetch_sub(1, std::memory_order_acq_rel);
    MXKV_ASSERT(under_way > 0, "an operation ends once");
    if (under_way != 1) {
      return;  // the last of them goes on
    }
  }
  if (!inner) {
    end_outer(bucket, first, worker);
  } else if (!begin_in_slot(bucket, slot, worker)) {
    static_cast<void>(take_slot(first, worker));  // before this one counts as done: so the bucket stays open
    if (bucket.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      bucket.next.store(Bucket::kClosed, std::memory_order_relaxed);
      release(first, first, worker);
    }
  }
}

void ToggleBuckets::end_outer(Bucket& bucket, std::uint32_t first, Worker& worker) {
  if (MxTask* follower = bucket.followers.pop_front()) {
    auto& next = static_cast<ToggleOperation&>(*follower);
    if (next.map_version_ == toggle_.map_version_.load(std::memory_order_acquire)) {
      begin_outer(bucket, next, worker);
      return;
    }
    for (; follower != nullptr; follower = bucket.followers.pop_front()) {
      const SlotInterval slots = static_cast<ToggleOperation&>(*follower).slots();
      bucket.followed.fetch_sub(1, std::memory_order_relaxed);
      bucket.followed_of_many.fetch_sub(slots.last / inner_count_ > first ? 1 : 0, std::memory_order_relaxed);
      place_anew(follower, worker);
    }
  }
  // Another group may begin here once the first bucket is released.
  const std::uint32_t reach = bucket.reach;
  const std::uint64_t parts = bucket.reached_parts;
  for (std::uint32_t held = first; held <= reach; held = next_held(held, reach, parts)) {
    release(held, first, worker);
  }
}

}  // namespace mxkv::runtime

#include "runtime/hierarchy/buckets/buckets.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/hierarchy/buckets/bucket.hpp"

namespace mxkv::runtime {

namespace {

/// Tells the host of a bucket that a group does not hold it any more.
class ReleaseTask final : public MxTask {
 public:
  static constexpr const char* kName = "release bucket";
  ReleaseTask(const TaskClass* task_class, ToggleBuckets& buckets, std::uint32_t bucket,
              std::uint32_t first) noexcept
      : MxTask(task_class), buckets_(buckets), bucket_(bucket), first_(first) {}
  step execute(Worker& worker) {
    buckets_.released(bucket_, first_, worker);
    return step::done;
  }

 private:
  ToggleBuckets& buckets_;
  std::uint32_t bucket_;
  std::uint32_t first_;
};

}  // namespace

ToggleBuckets::ToggleBuckets(Toggle& toggle, Runtime& runtime)
    : toggle_(toggle),
      count_(toggle.buckets()),
      inner_count_(toggle.slots() / toggle.buckets()),
      hosts_(toggle.has_hosts()),
      inner_(toggle.has_inner_mode()),
      stealing_(toggle.has_stealing()),
      workers_(runtime.worker_count()),
      buckets_(std::make_unique<Bucket[]>(count_)) {
  for (std::size_t i = 0; i < count_; ++i) {
    buckets_[i].host = WorkerId{static_cast<std::uint16_t>(i % workers_)};
    const auto first = static_cast<std::uint32_t>(i) * inner_count_;
    buckets_[i].parts = toggle.parts().bits_of({first, first + inner_count_ - 1});
  }
}

ToggleBuckets::~ToggleBuckets() = default;

void ToggleBuckets::submit(ToggleOperation& operation, Worker& worker) {
  go_to(operation, toggle_.place(operation), worker);
}

void ToggleBuckets::go_to(ToggleOperation& operation, std::uint32_t bucket, Worker& worker) {
  operation.bucket_ = bucket;
  if (serves(bucket, worker)) {
    arrived(operation, worker);
    return;
  }
  send(operation, worker);
}

bool ToggleBuckets::serves(std::uint32_t bucket, const Worker& worker) const noexcept {
  return !hosts_ || buckets_[bucket].host == worker.id();
}

void ToggleBuckets::send(ToggleOperation& operation, Worker& worker) noexcept {
  operation.annotate(buckets_[operation.bucket_].host);
  worker.spawn(&operation);
}

// By messages, also to this worker: many may wait, and none is to begin inside of another.
void ToggleBuckets::place_anew(MxTask* waiting, Worker& worker) noexcept {
  auto& operation = static_cast<ToggleOperation&>(*waiting);
  operation.bucket_ = toggle_.place(operation);
  send(operation, worker);
}

/// Operations that wait for the inner mode were placed by an earlier map.
void ToggleBuckets::follow_map(std::uint32_t index, Worker& worker) noexcept {
  Bucket& bucket = buckets_[index];
  const std::uint32_t version = toggle_.map_version_.load(std::memory_order_acquire);
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

void ToggleBuckets::arrived(ToggleOperation& operation, Worker& worker) {
  const std::uint32_t index = operation.bucket_;
  const std::lock_guard guard{buckets_[index].latch};
  buckets_[index].outer.push_back(&operation);
  advance(index, worker);
}

void ToggleBuckets::released(std::uint32_t index, std::uint32_t first, Worker& worker) {
  Bucket& bucket = buckets_[index];
  const std::lock_guard guard{bucket.latch};
  if (index == first) {
    MXKV_ASSERT(bucket.leads == (bucket.held != Bucket::hold::inner), "a group, or inner mode, began here");
    bucket.leads = false;
  }
  bucket.release();
  advance(index, worker);
}

void ToggleBuckets::release(std::uint32_t bucket, std::uint32_t first, Worker& worker) {
  if (serves(bucket, worker)) {
    released(bucket, first, worker);
    return;
  }
  auto* const task = worker.create<ReleaseTask>(*this, bucket, first);
  task->annotate(buckets_[bucket].host);
  worker.spawn(task);
}

std::uint32_t ToggleBuckets::next_held(std::uint32_t bucket, std::uint32_t reach,
                                       std::uint64_t parts) const noexcept {
  do {
    ++bucket;
  } while (bucket <= reach && (buckets_[bucket].parts & parts) == 0);
  return bucket;
}

// [To algorithm 1]
void ToggleBuckets::advance(std::uint32_t index, Worker& worker) {
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

void ToggleBuckets::wait_for_inner(ToggleOperation& operation) noexcept {
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
void ToggleBuckets::gather_followers(std::uint32_t index, ToggleOperation& leader) noexcept {
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

ToggleStats ToggleBuckets::stats() const noexcept {
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

std::size_t ToggleBuckets::discard_waiting(Runtime& runtime) noexcept {
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

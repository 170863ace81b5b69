#include "server/cluster/apply_lane.hpp"

#include <functional>

#include "server/cluster/apply_task.hpp"
#include "server/cluster/shard_memory.hpp"
#include "server/durability/item_loader.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

using runtime::step;

namespace {

/// Reads the entry at `at`, which deal() has checked.
BodyEntry dealt_entry(const char* at) noexcept {
  const std::size_t record_bytes = load_number<std::uint32_t>(at);
  const std::size_t apart_bytes = load_number<std::uint32_t>(at + sizeof(std::uint32_t));
  RecordBodyReader reader{{at, kBodyEntryHeaderBytes + record_bytes + apart_bytes}};
  const auto entry = reader.next();
  MXKV_ASSERT(entry.has_value(), "what is dealt was read");
  return *entry;
}

}  // namespace

step ApplyLane::turn(runtime::MxTask& task, runtime::Worker& worker) {
  MXKV_ASSERT(in_flight_.load(std::memory_order_acquire) == 0, "a lane's tasks end before the next begin");
  skip_void();
  for (ApplyStage* const stage : ended_) {
    memory_.part_ended(*stage);
  }
  ended_.clear();
  if (!has_next()) {
    return step::done;
  }
  task_ = &task;
  Tasks tasks;
  const std::uint32_t count = gather(tasks, worker);
  if (count == 0) {
    return ended_.empty() ? wait_for_memory(worker) : step::later;  // void stages have ended
  }
  short_since_ns_ = 0;
  // Park before the first start: the last task may end at any time, on another worker.
  in_flight_.store(count, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    tasks[i]->start(worker);
  }
  return step::parked;
}

bool ApplyLane::has_next() {
  return !parts_.empty() || memory_.take(*this);
}

void ApplyLane::advance() {
  MXKV_ASSERT(next_ < parts_.front()->entries[number_].size(), "a lane's stage has entries for it");
  if (++next_ == parts_.front()->entries[number_].size()) {
    end_first();
  }
}

void ApplyLane::end_first() {
  ended_.push_back(parts_.front());
  parts_.pop_front();
  next_ = 0;
  short_since_ns_ = 0;
}

// A lane that waits for memory for one shard still skips the failed shards behind it. So their memory can be
// dropped, which it may be waiting for.
void ApplyLane::skip_void() {
  const std::uint64_t failures = memory_.failures();
  if (std::exchange(failures_seen_, failures) == failures) {
    return;
  }
  const ApplyStage* const first = parts_.empty() ? nullptr : parts_.front();
  std::erase_if(parts_, [this](ApplyStage* stage) {
    const bool skips = stage->is_void.load(std::memory_order_acquire);
    if (skips) {
      ended_.push_back(stage);
    }
    return skips;
  });
  if (parts_.empty() || parts_.front() != first) {
    next_ = 0;
    short_since_ns_ = 0;
  }
}

bool ApplyLane::claim(std::string_view key) noexcept {
  std::uint32_t& stamp = stamps_[std::hash<std::string_view>{}(key) % kStamps];
  return std::exchange(stamp, stamp_) != stamp_;
}

std::uint32_t ApplyLane::gather(Tasks& tasks, runtime::Worker& worker) {
  const std::int64_t wall_ahead_s = worker.runtime().clock().wall_ahead_s();
  ++stamp_;
  std::uint32_t count = 0;
  // Do not ask memory for more stages here: when it answers that there are none, the lane's task has to end.
  // turn() asks once none of its tasks run.
  while (count < kTogether && !parts_.empty()) {
    ApplyStage& stage = *parts_.front();
    if (stage.is_void.load(std::memory_order_acquire)) {
      end_first();
      continue;
    }
    const BodyEntry entry = dealt_entry(stage.entries[number_][next_]);
    const std::string_view key = ShardMemory::key_of(entry.record);
    if (!claim(key)) {
      break;
    }
    ApplyTask* const task = make_task(stage, entry, key, worker, wall_ahead_s);
    if (task == nullptr) {
      break;
    }
    tasks[count++] = task;
    advance();
  }
  return count;
}

ApplyTask* ApplyLane::make_task(ApplyStage& stage, const BodyEntry& entry, std::string_view key,
                                runtime::Worker& worker, std::int64_t wall_ahead_s) {
  ItemTree& tree = memory_.store().tree();
  if (const auto* const put = std::get_if<PutRecord>(&entry.record)) [[likely]] {
    Item* const item = make_item(worker, *put, entry.apart, wall_ahead_s);
    return item == nullptr
               ? nullptr
               : worker.create<ApplyTask>(tree, *this, stage, record_type::put, put->order, key, item, 0U);
  }
  if (const auto* const touch = std::get_if<TouchRecord>(&entry.record)) {
    return worker.create<ApplyTask>(tree, *this, stage, record_type::touch, touch->order, key, nullptr,
                                    steady_expiry(touch->expiry, wall_ahead_s));
  }
  const auto& gone = std::get<GoneRecord>(entry.record);
  return worker.create<ApplyTask>(tree, *this, stage, record_type::gone, gone.order, key, nullptr, 0U);
}

step ApplyLane::wait_for_memory(runtime::Worker& worker) {
  MXKV_ASSERT(!parts_.empty(), "a lane waits for memory for its next record");
  const std::uint64_t now_ns = worker.now_ns();
  if (short_since_ns_ == 0) {
    short_since_ns_ = now_ns;
  }
  if (now_ns - short_since_ns_ >= kApplyPatienceNs) {
    short_since_ns_ = 0;
    static_cast<void>(lacks_memory(*parts_.front()));  // a void stage is skipped in the next turn
  }
  return step::later;
}

bool ApplyLane::lacks_memory(ApplyStage& stage) {
  return memory_.lacks_memory(stage);
}

void ApplyLane::task_ended(runtime::Worker& worker) noexcept {
  const std::uint32_t before = in_flight_.fetch_sub(1, std::memory_order_acq_rel);
  MXKV_ASSERT(before > 0, "a task ends once");
  if (before == 1) {
    worker.spawn(task_);
  }
}

}  // namespace mxkv::server

#include "server/cluster/shard_memory.hpp"

#include <utility>

#include "server/cluster/apply_dealer.hpp"
#include "server/cluster/apply_range_task.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

ShardMemory::ShardMemory(runtime::Runtime& runtime, Store& store, std::function<void()> wake,
                         const Routes* routes)
    : runtime_(runtime), store_(store), wake_(std::move(wake)), routes_(routes) {
  for (std::uint32_t i = 0; i < runtime.worker_count(); ++i) {
    lanes_.emplace_back(*this, i);
  }
}

ShardMemory::~ShardMemory() = default;

std::string_view ShardMemory::key_of(const Record& record) noexcept {
  if (const auto* const put = std::get_if<PutRecord>(&record)) [[likely]] {
    return put->key;
  }
  const auto* const gone = std::get_if<GoneRecord>(&record);
  return gone != nullptr ? gone->key : std::get<TouchRecord>(record).key;
}

void ShardMemory::apply(std::uint32_t shard, std::string_view records) {
  ApplyDealer dealer{shard, lanes_.size(), routes_};
  if (const char* const wrong = dealer.deal(records)) {
    ++begun_;
    fail(wrong);
    return;
  }
  ignored_flushes_.fetch_add(dealer.ignored(), std::memory_order_relaxed);
  add(dealer.take(), records.size());
}

void ShardMemory::drop(std::uint32_t shard, std::string_view from, std::string_view to) {
  MXKV_ASSERT(from.size() <= index::kMaxKeyBytes && to.size() <= index::kMaxKeyBytes, "bounds are keys");
  auto stage = std::make_unique<ApplyStage>();
  auto bytes = std::make_shared<const std::string>(std::string{from}.append(to));
  const std::string_view bounds{*bytes};
  stage->bytes = std::move(bytes);
  stage->shard = shard;
  stage->range = ApplyRange{.what = {.bounds = {.from = bounds.substr(0, from.size()),
                                                .to = bounds.substr(from.size()),
                                                .to_is_open = true,
                                                .has_no_end = to.empty()},
                                     .change = {.type = record_type::range_gone}},
                            .drops = true};
  ApplyStages stages;
  stages.push_back(std::move(stage));
  add(std::move(stages), from.size() + to.size());
}

void ShardMemory::add(ApplyStages stages, std::uint64_t bytes) {
  ++begun_;
  if (failed()) {
    return;
  }
  if (stages.empty()) {
    stages.push_back(std::make_unique<ApplyStage>());  // an empty call still ends in its turn
  }
  stages.back()->call = begun_;
  stages.back()->counted_bytes = bytes;
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  Starts starts;
  bool moved = false;
  {
    const std::scoped_lock lock{mutex_};
    for (auto& stage : stages) {
      stages_.push_back(std::move(stage));
    }
    moved = go_on(starts);
  }
  start(starts);
  if (moved) {
    wake_();
  }
}

bool ShardMemory::go_on(Starts& starts) {
  bool moved = false;
  std::size_t before = 0;
  do {
    before = stages_.size();
    begin_next(starts);
    moved = end_first() || moved;
  } while (stages_.size() < before);  // the first stage may now be a range
  return moved;
}

void ShardMemory::begin_next(Starts& starts) {
  MXKV_ASSERT(started_ <= stages_.size(), "stages begin in their order");
  // A range runs alone: it begins when no stage is under way, and no stage begins while it runs.
  while (started_ < stages_.size() && (started_ == 0 || !stages_[started_ - 1]->range.has_value())) {
    ApplyStage& stage = *stages_[started_];
    if (stage.range.has_value()) {
      if (started_ > 0) {
        return;
      }
      stage.left = 1;
      starts.range = &stage;
    }
    ++started_;
    for (std::uint32_t lane = 0; lane < stage.entries.size(); ++lane) {
      if (!stage.entries[lane].empty()) {
        ++stage.left;
        if (lanes_[lane].add(stage)) {
          starts.lanes.push_back(lane);
        }
      }
    }
  }
}

bool ShardMemory::end_first() {
  bool moved = false;
  while (started_ > 0 && stages_.front()->left == 0) {
    const ApplyStage& stage = *stages_.front();
    if (stage.greatest_order > greatest_order_.load(std::memory_order_relaxed)) {
      store_.tree().commits().raise_floor(stage.greatest_order);
      greatest_order_.store(stage.greatest_order, std::memory_order_release);
    }
    if (stage.call != 0) {
      MXKV_ASSERT(stage.call > finished(), "calls end in their order");
      MXKV_ASSERT(waiting_bytes() >= stage.counted_bytes, "bytes end as they began");
      waiting_bytes_.fetch_sub(stage.counted_bytes, std::memory_order_relaxed);
      finished_.store(stage.call, std::memory_order_release);
      moved = true;
    }
    stages_.pop_front();
    --started_;
  }
  return moved;
}

bool ShardMemory::take(ApplyLane& lane) {
  const std::scoped_lock lock{mutex_};
  return lane.take();
}

void ShardMemory::part_ended(ApplyStage& stage) {
  Starts starts;
  bool moved = false;
  {
    const std::scoped_lock lock{mutex_};
    MXKV_ASSERT(stage.left > 0, "a part ends once");
    MXKV_ASSERT(started_ > 0, "a stage that ends has begun");
    if (--stage.left == 0) {
      moved = end_first();
      moved = go_on(starts) || moved;
    }
  }
  start(starts);
  if (moved) {
    wake_();
  }
}

template <class Task, class... Args>
void ShardMemory::spawn(std::uint32_t worker, Args&&... args) {
  const runtime::WorkerId at{static_cast<std::uint16_t>(worker)};
  runtime::Worker* const here = runtime::Worker::current();
  if (here != nullptr && &here->runtime() == &runtime_) {
    here->spawn(here->create<Task>(std::forward<Args>(args)..., at));
  } else {
    (void)runtime_.submit(runtime_.create_outside<Task>(std::forward<Args>(args)..., at), at);
  }
}

void ShardMemory::start(const Starts& starts) {
  for (const std::uint32_t lane : starts.lanes) {
    spawn<ApplyLaneTask>(lane, lanes_[lane]);
  }
  if (starts.range != nullptr) {
    const auto workers = static_cast<std::uint32_t>(lanes_.size());
    spawn<BeginApplyRangeTask>(starts.range->shard % workers, *this, *starts.range);
  }
}

void ShardMemory::fail(std::string_view text) {
  {
    const std::scoped_lock lock{mutex_};
    if (failure_.empty()) {
      failure_ = text;
    }
    failed_.store(true, std::memory_order_release);
  }
  wake_();
}

void ShardMemory::lacks_memory(runtime::Worker& worker) {
  worker.local<WorkerContext>().count_no_memory();
  fail("out of memory while applying the log");
}

std::string ShardMemory::failure() const {
  const std::scoped_lock lock{mutex_};
  return failure_;
}

}  // namespace mxkv::server

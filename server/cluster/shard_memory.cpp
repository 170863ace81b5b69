#include "server/cluster/shard_memory.hpp"

#include <algorithm>
#include <utility>

#include "server/cluster/apply_dealer.hpp"
#include "server/cluster/apply_range_task.hpp"
#include "server/cluster/routes.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {
namespace {

bool drops(const ApplyStage& stage) noexcept {
  return stage.range.has_value() && stage.range->drops;
}

}  // namespace

ShardMemory::ShardMemory(runtime::Runtime& runtime, Store& store, std::function<void()> wake,
                         const Routes* routes)
    : runtime_(runtime),
      store_(store),
      wake_(std::move(wake)),
      routes_(routes),
      shards_(routes == nullptr ? 1 : routes->shards()) {
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
    {
      const std::scoped_lock lock{mutex_};
      fail(line_of(shard), wrong);
    }
    add(shard, {}, 0);
    wake_();
    return;
  }
  ignored_flushes_.fetch_add(dealer.ignored(), std::memory_order_relaxed);
  add(shard, dealer.take(), records.size());
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
  add(shard, std::move(stages), from.size() + to.size());
}

void ShardMemory::add(std::uint32_t shard, ApplyStages stages, std::uint64_t bytes) {
  if (stages.empty()) {
    stages.push_back(std::make_unique<ApplyStage>());  // an empty call still ends in its turn
    stages.back()->shard = shard;
  }
  Line& line = line_of(shard);
  stages.back()->call = ++line.begun;
  stages.back()->counted_bytes = bytes;
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  Starts starts;
  bool moved = false;
  {
    const std::scoped_lock lock{mutex_};
    for (auto& stage : stages) {
      if (drops(*stage)) {
        line.gives_way = false;
        line.failure.clear();
        line.failed.store(false, std::memory_order_release);
      }
      stage->is_void.store(line.failed.load(std::memory_order_relaxed), std::memory_order_release);
      line.stages.push_back(std::move(stage));
    }
    moved = go_on(line, starts);
  }
  start(starts);
  if (moved) {
    wake_();
  }
}

void ShardMemory::give_way(std::uint32_t shard, bool gives_way) {
  const std::scoped_lock lock{mutex_};
  line_of(shard).gives_way = gives_way;
}

bool ShardMemory::go_on(Line& line, Starts& starts) {
  bool moved = false;
  std::size_t before = 0;
  do {
    before = line.stages.size();
    begin_next(line, starts);
    moved = end_first(line) || moved;
  } while (line.stages.size() < before);  // the first stage may now be a range
  return moved;
}

void ShardMemory::begin_next(Line& line, Starts& starts) {
  MXKV_ASSERT(line.started <= line.stages.size(), "stages begin in their order");
  // A shard's range runs alone: it begins when no stage of the shard is under way, and none begins while it runs.
  while (line.started < line.stages.size() &&
         (line.started == 0 || !line.stages[line.started - 1]->range.has_value())) {
    ApplyStage& stage = *line.stages[line.started];
    if (stage.range.has_value() && line.started > 0) {
      return;
    }
    ++line.started;
    if (stage.is_void.load(std::memory_order_relaxed)) {
      continue;
    }
    if (stage.range.has_value()) {
      MXKV_ASSERT(starts.range == nullptr, "one range of a shard runs at a time");
      stage.left = 1;
      starts.range = &stage;
    }
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

bool ShardMemory::end_first(Line& line) {
  bool moved = false;
  while (line.started > 0 && line.stages.front()->left == 0) {
    const ApplyStage& stage = *line.stages.front();
    if (stage.greatest_order > greatest_order_.load(std::memory_order_relaxed)) {
      store_.tree().commits().raise_floor(stage.greatest_order);
      greatest_order_.store(stage.greatest_order, std::memory_order_release);
    }
    if (stage.call != 0) {
      MXKV_ASSERT(stage.call > line.finished.load(std::memory_order_relaxed), "calls end in their order");
      MXKV_ASSERT(waiting_bytes() >= stage.counted_bytes, "bytes end as they began");
      waiting_bytes_.fetch_sub(stage.counted_bytes, std::memory_order_relaxed);
      line.finished.store(stage.call, std::memory_order_release);
      moved = true;
    }
    line.stages.pop_front();
    --line.started;
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
    if (--stage.left == 0) {
      Line& line = line_of(stage.shard);
      MXKV_ASSERT(line.started > 0, "a stage that ends has begun");
      moved = end_first(line);
      moved = go_on(line, starts) || moved;
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

void ShardMemory::fail(Line& line, std::string_view text) {
  if (line.failed.load(std::memory_order_relaxed)) {
    return;
  }
  for (const auto& stage : line.stages) {
    if (!drops(*stage)) {
      stage->is_void.store(true, std::memory_order_release);
    }
  }
  line.failure = text;
  line.failed.store(true, std::memory_order_release);
  failures_.fetch_add(1, std::memory_order_release);
}

bool ShardMemory::lacks_memory(ApplyStage& stage) {
  {
    const std::scoped_lock lock{mutex_};
    if (stage.is_void.load(std::memory_order_relaxed)) {
      return true;
    }
    Line* line = &line_of(stage.shard);
    if (!line->gives_way) {
      const auto other = std::ranges::find_if(shards_, [](const Line& one) {
        return one.gives_way && !one.failed.load(std::memory_order_relaxed);
      });
      line = other == shards_.end() ? line : &*other;
    }
    fail(*line, "out of memory while applying the log");
  }
  wake_();
  return stage.is_void.load(std::memory_order_acquire);
}

std::string ShardMemory::failure(std::uint32_t shard) const {
  const std::scoped_lock lock{mutex_};
  return line_of(shard).failure;
}

}  // namespace mxkv::server

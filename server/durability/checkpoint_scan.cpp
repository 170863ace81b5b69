#include "server/durability/checkpoint_scan.hpp"

#include <chrono>

#include "index/sample_task.hpp"
#include "server/commit/record.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

using runtime::step;

namespace {

/// Begins a task of the tree on a worker, for a thread that is no worker.
template <class Owner>
class BeginTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "checkpoint begins";

  BeginTask(const runtime::TaskClass* task_class, Owner& owner, void (*begin)(Owner&, runtime::Worker&),
            void (*lost)(Owner&)) noexcept
      : MxTask(task_class), owner_(owner), begin_(begin), lost_(lost) {}
  step execute(runtime::Worker& worker) {
    begin_(owner_, worker);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) { lost_(owner_); }

 private:
  Owner& owner_;
  void (*begin_)(Owner&, runtime::Worker&);
  void (*lost_)(Owner&);
};

/// Begins a scan on the worker that takes it first.
class BeginScanTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "checkpoint begins a scan";

  BeginScanTask(const runtime::TaskClass* task_class, PartScan& scan) noexcept
      : MxTask(task_class), scan_(scan) {}
  step execute(runtime::Worker& worker) {
    scan_.begin(worker);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) { scan_.lost(); }

 private:
  PartScan& scan_;
};

class CheckpointTask final : public index::ScanTask<CheckpointTask, ItemTraits> {
  using Base = index::ScanTask<CheckpointTask, ItemTraits>;

 public:
  static constexpr const char* kName = "checkpoint";

  CheckpointTask(const runtime::TaskClass* task_class, PartScan& scan) noexcept
      : Base(task_class, scan.store().tree()), scan_(&scan) {
    key_.set(scan.next_key());
    annotate(runtime::priority::low);
  }

  // --- For ScanTask ---
  struct LeafVisitor {
    PartScan& scan;
    std::uint64_t flushed;
    bool visit(std::uint64_t /*head*/, std::uint64_t value) {
      return scan.visit(Item::View{*ItemRecord::item(value)}, flushed);
    }
  };
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] static bool backward() noexcept { return false; }
  // Once a flush_all has replaced the tree, writers that were on their way may still put items into the old
  // one, with cas values above the flush's. No client learns of these items. The generation is read after the
  // leaf: a leaf of the old tree is then seen as old.
  [[nodiscard]] LeafVisitor leaf_visitor(runtime::Worker& worker) const noexcept {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    const bool old = here().life().generation() != tree().generation();
    return {*scan_, old ? kAll : worker.local<WorkerContext>().flush_points->at(worker.now_us())};
  }
  step finished(bool exhausted, runtime::Worker& worker) {
    worker.unpin(*this);
    std::exchange(scan_, nullptr)->ended(exhausted);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) {
    if (scan_ != nullptr) {
      std::exchange(scan_, nullptr)->lost();
    }
  }

 private:
  PartScan* scan_;
  HeldKey key_;
};

class CutTask final : public index::SampleTask<CutTask, ItemTraits> {
 public:
  static constexpr const char* kName = "cut checkpoint";
  static constexpr unsigned kWalks = 256;

  CutTask(const runtime::TaskClass* task_class, CheckpointCut& cut, std::uint64_t seed)
      : SampleTask(task_class, cut.store().tree(), seed), cut_(&cut) {
    annotate(runtime::priority::low);
  }

  // --- For SampleTask ---
  [[nodiscard]] static std::string_view key() noexcept { return {}; }
  [[nodiscard]] static bool ends_before(std::string_view /*key*/) noexcept { return false; }
  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& /*worker*/) {
    if (leaf.count > 0 && !whole) {
      cut_->add(ItemRecord::key(leaf.values[walks_ * 7 % leaf.count]), weight * leaf.count);
    }
    return ++walks_ < kWalks && !whole;
  }
  step finished(runtime::Worker& worker) {
    worker.unpin(*this);
    std::exchange(cut_, nullptr)->ended(false);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) {
    if (cut_ != nullptr) {
      std::exchange(cut_, nullptr)->ended(true);
    }
  }

 private:
  CheckpointCut* cut_;
  unsigned walks_ = 0;
};

static_assert(sizeof(CheckpointTask) <= runtime::kLargestTaskBytes);
static_assert(sizeof(CutTask) <= runtime::kLargestTaskBytes);

}  // namespace

bool CheckpointBuffer::add(const Item::View& item, std::int64_t wall_ahead_s) {
  PutRecord put = record_of(item, wall_expiry(item.expiry(), wall_ahead_s));
  put.access = item.item().access_code();
  const std::size_t bytes = encoded_bytes(put);
  if (filled_ + bytes > bytes_.size() ||
      (referenced_ > 0 && referenced_ + put.apart_bytes > kMostReferenced)) {
    return false;
  }
  if (!block_is_open_) {
    blocks_.emplace_back().first = put.key;
    block_is_open_ = true;
  }
  write_record(bytes_.data() + filled_, put);
  filled_ += bytes;
  FilledBlock& block = blocks_.back();
  block.end = filled_;
  ++block.records;
  block.last = put.key;
  MXKV_DCHECK(block.first <= block.last, "a scan meets keys in their order");
  if (put.apart_bytes != 0) {
    block.value = item.item().list();
    block.value->reference_by_reply();
    referenced_ += put.apart_bytes;
    block_is_open_ = false;
  }
  return true;
}

void CheckpointBuffer::clear(runtime::Worker& worker) noexcept {
  for (const FilledBlock& block : blocks_) {
    if (block.value != nullptr) {
      ChunkList::drop_by_reply(worker, block.value);
    }
  }
  blocks_.clear();
  filled_ = 0;
  referenced_ = 0;
  block_is_open_ = false;
}

void CheckpointBell::wait(std::uint64_t ns) {
  std::unique_lock lock{mutex_};
  const auto rung = [this] { return rung_; };
  if (ns == ~std::uint64_t{0}) {
    changed_.wait(lock, rung);
  } else {
    changed_.wait_for(lock, std::chrono::nanoseconds{ns}, rung);
  }
  rung_ = false;
}

void PartScan::submit(runtime::WorkerId worker, bool scans) {
  MXKV_ASSERT(now() != state::running, "a part has one scan at a time");
  state_.store(state::running, std::memory_order_relaxed);  // relaxed: submit() publishes it
  using Begin = BeginTask<PartScan>;
  runtime::Runtime& runtime = store_.tree().runtime();
  auto* const task = runtime.create_outside<Begin>(
      *this,
      scans ? [](PartScan& scan, runtime::Worker& on) { scan.offer(on); }
            : [](PartScan& scan, runtime::Worker& on) { scan.released(on); },
      [](PartScan& scan) { scan.lost(); });
  (void)runtime.submit(task, worker);  // a worker that has ended discards the task
}

void PartScan::start(runtime::WorkerId worker, runtime::RequestId request) {
  request_ = request;
  submit(worker, true);
}
void PartScan::release(runtime::WorkerId worker) {
  submit(worker, false);
}

void PartScan::offer(runtime::Worker& worker) {
  auto* const task = worker.create<BeginScanTask>(*this);
  task->annotate(runtime::deferred{request_});
  worker.spawn(task);
}

void PartScan::begin(runtime::Worker& worker) {
  buffer_.clear(worker);
  wall_ahead_s_ = times_ == record_times::wall ? worker.runtime().clock().wall_ahead_s() : 0;
  worker.create<CheckpointTask>(*this)->start(worker);
}

bool PartScan::visit(const Item::View& item, std::uint64_t flushed) {
  const std::string_view key = item.key();
  if (key == key_.view() || item.item().order() <= flushed) {
    return true;
  }
  if (!to_.empty() && key >= to_) {
    reached_end_ = true;
    return false;
  }
  if (!buffer_.add(item, wall_ahead_s_)) {
    return false;
  }
  key_.set(key);
  return true;
}

void PartScan::ended(bool exhausted) {
  exhausted_ = exhausted || reached_end_;
  hand_over(state::filled);
}

void PartScan::released(runtime::Worker& worker) {
  buffer_.clear(worker);
  hand_over(state::idle);
}

void PartScan::lost() {
  hand_over(state::failed);
}

void PartScan::hand_over(state now) {
  MXKV_ASSERT(state_.load(std::memory_order_relaxed) == state::running, "a scan is handed over once");
  CheckpointBell& bell = bell_;  // this may be gone once the state is stored
  state_.store(now, std::memory_order_release);
  bell.ring();
}

void CheckpointCut::start(runtime::WorkerId worker, std::uint64_t seed) {
  seed_ = seed;
  using Begin = BeginTask<CheckpointCut>;
  runtime::Runtime& runtime = store_.tree().runtime();
  auto* const task = runtime.create_outside<Begin>(
      *this, [](CheckpointCut& cut, runtime::Worker& on) { on.create<CutTask>(cut, cut.seed())->start(on); },
      [](CheckpointCut& cut) { cut.ended(true); });
  (void)runtime.submit(task, worker);
}

void CheckpointCut::ended(bool failed) {
  MXKV_ASSERT(!done(), "a cut ends once");
  CheckpointBell& bell = bell_;
  failed_ = failed;
  done_.store(true, std::memory_order_release);
  bell.ring();
}

KeyRanges CheckpointCut::ranges(std::uint32_t parts) && {
  MXKV_ASSERT(parts > 0 && done() && !failed_, "what was cut is cut into parts");
  std::uint64_t all = 0;
  for (const auto& [key, weight] : samples_) {
    all += weight;
  }
  return {std::move(samples_), std::max<std::uint64_t>(all / parts, 1)};
}

}  // namespace mxkv::server

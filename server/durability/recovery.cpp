#include "server/durability/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <system_error>

#include "server/durability/item_loader.hpp"
#include "server/durability/recovery_input.hpp"
#include "server/durability/resumed_time.hpp"
#include "server/durability/side_by_side.hpp"

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;
using Run = index::LeafRun<ItemTraits>;

/// Loads items while there is room, and measures the others.
class LoadOrMeasure final : public ReplaySink {
 public:
  LoadOrMeasure(ItemLoader& loader, bool loads) noexcept : loader_(loader), loads_(loads) {}
  bool item(const StoredItem& stored) override {
    loads_ = loads_ && loader_.item(stored);
    missing_bytes_ += loads_ ? 0 : bytes_of(stored);
    return true;
  }
  [[nodiscard]] std::uint64_t missing_bytes() const noexcept { return missing_bytes_; }

 private:
  ItemLoader& loader_;
  bool loads_;
  std::uint64_t missing_bytes_ = 0;
};

class Recovery {
 public:
  Recovery(Disk& disk, const Manifest& manifest, Store& store, const RecoveryOptions& options)
      : manifest_(manifest), store_(store), options_(options), input_(disk, manifest) {}

  /// Empty: recovery succeeded.
  std::string run() {
    const auto tick = [this] { tell(); };
    const std::size_t threads = workers();
    std::string wrong = input_.scan_journal(threads, tick);
    wrong = wrong.empty() ? input_.judge(options_.recover_prefix) : wrong;
    wrong = wrong.empty() ? input_.open_parts() : wrong;
    wrong = wrong.empty() ? input_.deal_records(threads, tick) : wrong;
    if (!wrong.empty()) {
      return wrong;
    }
    begin_time();
    result_.journal_seconds = seconds();
    gather_operations();
    wrong = options_.left_out != nullptr ? load_what_fits(tick) : load(false);
    if (wrong.empty() && is_short_) {
      wrong = no_memory();
    }
    if (wrong.empty()) {
      settle();
    }
    return wrong;
  }

  [[nodiscard]] const Recovered& result() const noexcept { return result_; }

 private:
  /// The results of one thread.
  struct Share {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
    std::uint64_t expired = 0;
    std::uint64_t greatest_order = 0;
    std::uint64_t first_expiry = std::numeric_limits<std::uint32_t>::max();
    LeftOutKeys left_out;
    LoadTrial trial;
    std::string error;
  };

  [[nodiscard]] runtime::Runtime& runtime() noexcept { return store_.tree().runtime(); }
  [[nodiscard]] std::size_t workers() noexcept { return runtime().worker_count(); }
  [[nodiscard]] runtime::Worker& worker(std::size_t i) noexcept {
    return runtime().worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  void tell() {
    RecoveryProgress progress;
    // Reading the journal is a fifth of the work if there is no checkpoint, and none of it if there is no
    // journal.
    const double read = input_.bytes() == 0
                            ? 1
                            : static_cast<double>(input_.bytes_read()) / static_cast<double>(input_.bytes());
    const auto ranges = static_cast<double>(range_count_);
    const double merged = range_count_ == 0 ? 0 : static_cast<double>(ranges_done_.load()) / ranges;
    progress.fraction = std::min(0.2 * read + 0.8 * merged, 1.0);
    progress.items = items_.load(std::memory_order_relaxed);
    progress.seconds = seconds();
    progress.seconds_left =
        progress.fraction > 0 ? progress.seconds / progress.fraction - progress.seconds : 0;
    options_.progress(progress);
  }

  /// Items are live or not by the time that resumes the last process's.
  void begin_time() {
    const std::uint64_t wall_us = runtime().clock().unix_us();
    const ResumedTime time = resumed_time(input_.scans(), input_.verdict(), wall_us);
    now_us_ = time.steady_us;
    result_.clock_behind = time.clock_behind;
    options_.resume_time(now_us_);
  }

  void gather_operations() {
    std::uint64_t greatest = manifest_.ceiling;
    for (RecordDealer& dealer : input_.dealers()) {
      operations_.take(std::move(dealer.operations()));
      result_.records += dealer.records();
      greatest = std::max(greatest, dealer.greatest_order());
    }
    operations_.seal(manifest_.checkpoint ? manifest_.checkpoint->flushes : FlushState{});
    result_.ceiling = std::max({greatest, operations_.greatest_order(), input_.verdict().ceiling});
    for (const Part& part : input_.parts()) {
      result_.base_items += part.footer().items;
    }
    range_count_ = input_.ranges().size();
  }

  /// Takes all records of a key range out of the dealers.
  [[nodiscard]] std::vector<KeyRecord> records_of(std::size_t range) {
    std::vector<KeyRecord> all;
    std::size_t count = 0;
    for (RecordDealer& dealer : input_.dealers()) {
      count += dealer.of_range(range).size();
    }
    all.reserve(count);
    for (RecordDealer& dealer : input_.dealers()) {
      auto& some = dealer.of_range(range);
      all.insert(all.end(), some.begin(), some.end());
      std::vector<KeyRecord>{}.swap(some);
    }
    return all;
  }

  /// Merges a range into a sink. False: the sink wanted no more, or `error` describes damage.
  bool merge(std::size_t range, ReplaySink& sink, ReplayCounts& counts, std::string& error) {
    const KeyRanges& ranges = input_.ranges();
    std::vector<KeyRecord> records = records_of(range);
    PartItems base{input_.parts(), ranges.from(range), ranges.to(range)};
    Replay replay{operations_, now_us_};
    const bool ended = replay.merge(records, ranges.shared(range), &base, sink);
    error = base.error();
    counts += replay.counts();
    return ended && error.empty();
  }

  /// A cache first tries to load everything. If that does not fit, the trial has measured how much does, and
  /// the scores of all items; then only those that eviction would keep are loaded. If these do not fit either,
  /// because memory is cut up otherwise than in the trial, fewer are loaded, in the end none.
  std::string load_what_fits(const std::function<void()>& tick) {
    constexpr double kFewer = 0.75;
    std::string wrong = load(true);
    for (double part = 1; wrong.empty() && is_short_; part *= kFewer) {
      runs_.clear();
      ranges_done_.store(0);
      items_.store(0);
      line_ = sample_.line(part);
      wrong = input_.deal_records(workers(), tick);
      if (wrong.empty()) {
        wrong = load(false);
      }
    }
    return wrong;
  }

  /// Sets is_short_ if memory did not suffice. A trial stops to load items then, and notes their scores.
  std::string load(bool is_trial) {
    MXKV_ASSERT(runs_.empty() && range_count_ > 0, "a trial's items are dropped before others are loaded");
    is_short_.store(false);
    const double begin = seconds();
    runs_.resize(range_count_);
    Turns turns{range_count_};
    std::vector<Share> shares(workers());
    side_by_side(
        std::min(workers(), range_count_),
        [&](std::size_t i) {
          shares[i].trial.is_short = is_trial ? &is_short_ : nullptr;
          for (std::size_t range = 0; !failed_.load(std::memory_order_relaxed) && turns.next(range);) {
            if (!load_range(range, worker(i), shares[i])) {
              failed_.store(true, std::memory_order_relaxed);
            }
          }
        },
        [this] { tell(); });
    result_.checkpoint_seconds += seconds() - begin;
    for (const Share& share : shares) {
      if (!share.error.empty()) {
        return share.error;
      }
    }
    MXKV_ASSERT(ranges_done_.load() == range_count_, "items of all key ranges were loaded");
    if (is_trial) {
      for (const Share& share : shares) {
        sample_.take(share.trial.sample);
      }
    }
    if (!is_short_ && !finish_tree()) {
      is_short_.store(true);
    }
    for (std::size_t i = 0; !is_short_ && i < shares.size(); ++i) {
      add_up(shares[i]);
    }
    return {};
  }

  /// False: out of memory.
  bool finish_tree() {
    std::vector<Run*> runs;
    for (const auto& run : runs_) {
      MXKV_ASSERT(run != nullptr, "each key range has a run");
      runs.push_back(run.get());
    }
    return missing_bytes_.load() == 0 && index::BulkLoader<ItemTraits>::finish(store_.tree(), runs);
  }

  bool load_range(std::size_t range, runtime::Worker& worker, Share& share) {
    runs_[range] = std::make_unique<Run>(store_.tree(), worker);
    const LoadLimits limits{.left_out = options_.left_out != nullptr ? &share.left_out : nullptr,
                            .now_us = now_us_,
                            .weighs_size = store_.weighs_size(),
                            .line = line_};
    ItemLoader loader{*runs_[range], limits, runtime().clock(),
                      share.trial.is_short != nullptr ? &share.trial : nullptr};
    // After the first item without room, the rest is only measured: the error says how much all of them need.
    LoadOrMeasure sink{loader, missing_bytes_.load(std::memory_order_relaxed) == 0};
    ReplayCounts counts;
    const bool done = merge(range, sink, counts, share.error);
    missing_bytes_.fetch_add(sink.missing_bytes(), std::memory_order_relaxed);
    share.items += loader.items();
    share.bytes += loader.bytes();
    share.expired += counts.expired;
    share.greatest_order = std::max(share.greatest_order, loader.greatest_order());
    share.first_expiry = std::min<std::uint64_t>(share.first_expiry, loader.first_expiry());
    items_.fetch_add(loader.items(), std::memory_order_relaxed);
    ranges_done_.fetch_add(1, std::memory_order_relaxed);
    return done;
  }

  /// Adds a thread's results to the result.
  void add_up(Share& share) {
    result_.items += share.items;
    result_.item_bytes += share.bytes;
    result_.expired += share.expired;
    result_.ceiling = std::max(result_.ceiling, share.greatest_order);
    first_expiry_ = std::min(first_expiry_, share.first_expiry);
    if (options_.left_out != nullptr) {
      options_.left_out->take(std::move(share.left_out));
    }
  }

  [[nodiscard]] std::string no_memory() {
    constexpr std::uint64_t kMiB = 1 << 20U;
    const std::uint64_t limit = runtime().budget().limit_bytes();
    return fmt::format(
        "the memory limit of {} MiB is below the data, which needs about {} MiB: raise memory.limit, or let "
        "memory.when_full: evict keep what fits",
        limit / kMiB, (limit + missing_bytes_.load()) / kMiB + 1);
  }

  /// Restores the store's state besides its items.
  void settle() {
    const JournalVerdict& verdict = input_.verdict();
    result_.epoch = verdict.last_epoch;
    result_.last_unix_us = verdict.newest_unix_us;
    result_.flushes = operations_.flushes();
    result_.torn = verdict.torn;
    result_.gap = verdict.gap;
    result_.left_off = verdict.left_out;
    MXKV_ASSERT(result_.ceiling >= manifest_.ceiling && result_.ceiling <= kMostOrder,
                "new orders are above all that were given out");
    store_.tree().commits().raise_floor(result_.ceiling);
    store_.resume_flush(result_.flushes.next, result_.flushes.before);
    if (first_expiry_ != std::numeric_limits<std::uint32_t>::max()) {
      const auto first = static_cast<std::uint32_t>(first_expiry_);
      store_.context(runtime::WorkerId{0}).first_expiry.store(first, std::memory_order_relaxed);
      store_.sweep().expect((first + index::Due::kSecondsAStep) * kUsPerSecond);
    }
    list_segments();
  }

  void list_segments() {
    const JournalVerdict& verdict = input_.verdict();
    const auto& scans = input_.scans();
    result_.chain = verdict.chain;
    result_.next_segment =
        manifest_.end.segment + 1;  // even if that segment is lost: numbers are never used again
    for (const SegmentScan& scan : scans) {
      result_.next_segment = std::max(result_.next_segment, scan.number + 1);
      if (scan.header_is == SegmentScan::state::good || scan.header_is == SegmentScan::state::no_header) {
        result_.segments.push_back({.number = scan.number, .last_epoch = 0, .bytes = scan.bytes.size()});
      }
    }
    for (const JournalVerdict::Part& part : verdict.parts) {
      const SegmentScan& scan = scans[part.segment];
      const auto known = std::ranges::find(result_.segments, scan.number, &KnownSegment::number);
      MXKV_ASSERT(known != result_.segments.end(), "a segment whose groups count is known");
      known->last_epoch = part.groups == 0 ? scan.header.first_epoch - 1 : scan.groups[part.groups - 1].epoch;
      known->needed = true;
    }
    note_history();
    MXKV_ASSERT(result_.next_segment > manifest_.end.segment, "numbers of segments are never used again");
    note_unproven();
  }

  // The segments before those that a start needs. Each was on disk up to the next one's first epoch when that began.
  void note_history() {
    std::uint64_t next_first = 0;
    for (auto scan = input_.scans().rbegin(); scan != input_.scans().rend(); ++scan) {
      if (scan->header_is != SegmentScan::state::good) {
        continue;
      }
      const auto known = std::ranges::find(result_.segments, scan->number, &KnownSegment::number);
      const std::uint64_t first = scan->header.first_epoch;
      if (known->needed) {
        next_first = first;
      } else if (first < next_first) {
        known->last_epoch = next_first - 1;
        next_first = first;
      }
    }
  }

  // Segments before the last one were flushed before the last one began.
  void note_unproven() {
    const JournalVerdict& verdict = input_.verdict();
    if (verdict.parts.empty() || manifest_.clean) {
      return;
    }
    const JournalVerdict::Part& last = verdict.parts.back();
    const SegmentScan& scan = input_.scans()[last.segment];
    const auto end = scan.groups.begin() + static_cast<std::ptrdiff_t>(last.groups);
    std::uint64_t proven = 0;
    for (auto group = scan.groups.begin(); group != end; ++group) {
      proven = std::max(proven, group->durable);
    }
    if (last.groups > 0 && end[-1].epoch > proven) {
      result_.unproven = {scan.number, last.end};
    }
  }

  const Manifest& manifest_;
  Store& store_;
  const RecoveryOptions& options_;
  RecoveryInput input_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t now_us_ = 0;  ///< steady
  RangeOperations operations_;
  ScoreSample sample_;  ///< of the trial
  ScoreLine line_;      ///< of the items to load
  std::size_t range_count_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
  std::uint64_t first_expiry_ = std::numeric_limits<std::uint32_t>::max();
  Recovered result_;
  // Relaxed: figures, and a flag to end early.
  std::atomic<bool> failed_{false};
  std::atomic<bool> is_short_{false};            // memory did not suffice
  std::atomic<std::uint64_t> missing_bytes_{0};  // of items without room
  std::atomic<std::uint64_t> ranges_done_{0};
  std::atomic<std::uint64_t> items_{0};
};

}  // namespace

Result<Recovered> recover(Disk& disk, const Manifest& manifest, Store& store,
                          const RecoveryOptions& options) {
  try {
    Recovery recovery{disk, manifest, store, options};
    std::string wrong = recovery.run();
    if (!wrong.empty()) {
      return Error{std::move(wrong)};
    }
    return recovery.result();
  } catch (const std::bad_alloc&) {
    return Error{"the system is out of memory for the records of the journal"};
  } catch (const std::system_error& error) {
    return Error{fmt::format("no threads to recover with: {}", error.what())};
  }
}

}  // namespace mxkv::server

#include "server/journal/journal_writer.hpp"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kRetryNs = kSecondNs;
constexpr std::uint64_t kSlowNs = kSecondNs;
constexpr std::uint64_t kLazyNs = 10'000'000;  ///< of sync never
// Where clients see cas values of records that are not on disk, each ceiling on disk has room for orders to come.
constexpr std::uint64_t kCeilingSlackUs = 20'000'000;
/// For so long such values are surely below it: shorter than the slack by orders ahead of the clock and rounds under
/// way, longer than any interval.
constexpr std::uint64_t kCoveredNs = 15 * kSecondNs;

/// "no space left on device", for the middle of a sentence.
std::string text_of(int error) {
  std::string text = std::generic_category().message(error);
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);  // one writer
}

}  // namespace

JournalWriter::JournalWriter(BufferShare& share, std::span<RecordBuffer* const> buffers, SegmentStore& store,
                             const runtime::Clock& clock, WriterOptions options, WriterHooks hooks)
    : epochs_(*share.epochs),
      share_(share),
      store_(store),
      clock_(clock),
      hooks_(std::move(hooks)),
      options_(options),
      closed_(epochs_.durable()),
      written_(closed_),
      proven_(closed_),
      most_bytes_(options.most_bytes),
      history_bytes_(options.history_bytes),
      synced_(closed_),
      passed_(closed_) {
  for (RecordBuffer* const buffer : buffers) {
    lanes_.push_back({.buffer = buffer});
  }
  next_mode_ = options.mode;
  apply_mode();
  shown_mode_ = mode_;
  cover(clock_.monotonic_ns());  // the first group is on disk before the first client
}

JournalWriter::~JournalWriter() {
  hand_back();
  for (Lane& lane : lanes_) {
    if (lane.first != nullptr) {
      lane.buffer->give_back(lane.first, lane.last);
    }
  }
}

bool JournalWriter::step() {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  take_requests();
  switch (turn_) {
    case turn::writing:
      return now_ns >= retry_ns_ && write(now_ns);
    case turn::closing:
      if (!epochs_.await_passed(closed_)) {
        return false;  // the last worker to pass raises the signal
      }
      collect();
      return write(now_ns);
    case turn::open:
      break;
  }
  if (upkeep(now_ns)) {
    return true;
  }
  if (!due(now_ns)) {
    return false;
  }
  close(now_ns);
  return true;
}

std::uint64_t JournalWriter::sleep_ns() const {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  std::uint64_t until = kNoLimit;  // while it waits for workers, the last one to pass raises the signal
  if (turn_ == turn::writing || (turn_ == turn::open && ahead_failed_)) {
    until = retry_ns_;
  }
  if (turn_ == turn::open && first_ns_ != 0) {
    until = std::min(until, first_ns_ + patience_ns());
  }
  return until == kNoLimit ? kNoLimit : until > now_ns ? until - now_ns : 0;
}

void JournalWriter::take_requests() {
  std::optional<JournalMode> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::exchange(wanted_mode_, std::nullopt);
  }
  if (wanted) {
    // In force with the next group on disk: its ceiling fits both modes, and all earlier records are on disk.
    next_mode_ = wanted;
    forced_ = true;
  }
  if (unmade_ && rebased_.load(std::memory_order_relaxed) >= gap_end_.load(std::memory_order_relaxed)) {
    unmade_ = false;
    forced_ = true;  // with the next group all records are durable
    judge();
  }
}

std::uint64_t JournalWriter::patience_ns() const noexcept {
  switch (mode_.sync) {
    case config::sync_mode::commit:
      break;
    case config::sync_mode::interval:
      return mode_.interval_ns / 2;
    case config::sync_mode::never:
      return kLazyNs;
  }
  return 0;
}

bool JournalWriter::flushes() const noexcept {
  return mode_.sync != config::sync_mode::never || next_mode_.has_value() || unmade_ ||
         needed_on_disk_.load(std::memory_order_relaxed) > synced_.load(std::memory_order_relaxed);
}

bool JournalWriter::due(std::uint64_t now_ns) {
  const bool recorded = epochs_.last_recorded() > closed_;
  if (!recorded) {
    first_ns_ = 0;
    if (!unmade_) {
      oldest_ns_.store(0, std::memory_order_relaxed);  // this is late news of records that are durable by now
    }
  } else if (first_ns_ == 0) {
    first_ns_ = now_ns;
    if (oldest_ns_.load(std::memory_order_relaxed) == 0) {
      oldest_ns_.store(now_ns, std::memory_order_relaxed);
    }
  }
  if (forced_ || needed_.load(std::memory_order_relaxed) > closed_ ||
      needed_on_disk_.load(std::memory_order_relaxed) > closed_) {
    return true;
  }
  return recorded && (now_ns - first_ns_ >= patience_ns() ||
                      share_.waiting_bytes.load(std::memory_order_relaxed) >= options_.early_bytes);
}

void JournalWriter::close(std::uint64_t now_ns) {
  MXKV_ASSERT(turn_ == turn::open && written_ == closed_, "one group is written at a time");
  closed_ = epochs_.close(clock_.steady_us(now_ns));
  close_ns_ = now_ns;
  first_ns_ = 0;
  forced_ = false;
  turn_ = turn::closing;
}

void JournalWriter::collect() {
  MXKV_ASSERT(turn_ == turn::closing, "the records of a closed epoch are collected once");
  horizon_us_ = epochs_.horizon_of(closed_);
  group_.begin(closed_);
  for (std::size_t worker = 0; worker < lanes_.size(); ++worker) {
    Lane& lane = lanes_[worker];
    if (RecordBlock* const sealed = lane.buffer->collect(); sealed != nullptr) {
      (lane.first == nullptr ? lane.first : lane.last->next) = sealed;
      for (lane.last = sealed; lane.last->next != nullptr; lane.last = lane.last->next) {
      }
    }
    for (; lane.first != nullptr && lane.first->epoch <= closed_; lane.first = lane.first->next) {
      lane.group_first = lane.group_first == nullptr ? lane.first : lane.group_first;
      lane.group_last = lane.first;
      group_.add(*lane.first, runtime::WorkerId{static_cast<std::uint16_t>(worker)});
    }
  }
  turn_ = turn::writing;
  retry_ns_ = 0;
}

bool JournalWriter::write(std::uint64_t now_ns) {
  const bool flush = flushes();
  const std::uint64_t begin_ns = clock_.monotonic_ns();
  const DiskOutcome outcome = write_group(flush);
  note_flush(begin_ns);
  if (outcome.ok()) {
    written(flush, begin_ns);
    return true;
  }
  if (outcome.lost) {
    give_up(outcome.error);
    return true;
  }
  cannot("a group of records", outcome.error, now_ns);
  return false;
}

DiskOutcome JournalWriter::write_group(bool flush) {
  MXKV_ASSERT(proven_ < group_.epoch() && group_.epoch() == closed_, "a group tells of groups before it");
  const std::uint64_t unix_us = clock_.unix_us();
  DiskOutcome outcome = store_.make_room(
      group_.bytes(),
      {.epoch = group_.epoch(), .durable = unmade_ ? proven_ : group_.epoch() - 1, .created_us = unix_us});
  if (!outcome.ok()) {
    return outcome;
  }
  CommitMark mark;
  mark.durable = proven_;
  mark.ceiling = hooks_.greatest_order();
  if (!is_exact(mode_) || !is_exact(next_mode_.value_or(mode_))) {
    mark.ceiling += kCeilingSlackUs;
  }
  mark.unix_us = unix_us;
  mark.wall_ahead_s = static_cast<std::int32_t>(clock_.wall_ahead_s());
  const std::uint64_t chain = group_.seal(store_.offset(), store_.seed(), store_.chain(), mark);
  outcome = store_.write(group_.pieces());
  if (outcome.ok() && flush) {
    outcome = store_.sync();
  }
  MXKV_ASSERT(store_.offset() % kPageBytes == 0, "groups begin at pages");
  if (outcome.ok()) {
    store_.advance(group_.bytes(), group_.epoch(), chain);
  }
  return outcome;
}

void JournalWriter::written(bool flushed_too, std::uint64_t begin_ns) {
  MXKV_ASSERT(turn_ == turn::writing && written_ < closed_, "a group is written once");
  count(counts_.groups);
  count(counts_.records, group_.records());
  count(counts_.bytes, group_.bytes());
  written_ = closed_;
  short_of_space_.store(false, std::memory_order_relaxed);
  hand_back();
  const bool changes_mode = flushed_too && next_mode_;
  if (flushed_too) {
    synced_.store(written_, std::memory_order_release);
    if (changes_mode) {
      apply_mode();
    }
  }
  if (!unmade_) {
    proven_ = synced_.load(std::memory_order_relaxed);
    cover(begin_ns);
    epochs_.publish_durable(closed_, horizon_us_);
    const bool more = epochs_.last_recorded() > closed_;
    first_ns_ = more ? close_ns_ : 0;  // no remaining record is older
    oldest_ns_.store(first_ns_, std::memory_order_relaxed);
  }
  passed_.store(closed_, std::memory_order_release);
  turn_ = turn::open;
  if (changes_mode) {
    const std::lock_guard lock(mutex_);
    shown_mode_ = mode_;  // callers may rely on it: replies wait as the mode says
  }
  judge();
  hooks_.on_change();
}

void JournalWriter::give_up(int error) {
  MXKV_ASSERT(error != 0 && turn_ != turn::closing, "a group that was collected is given up for a reason");
  const std::string path = store_.path();
  store_.abandon();
  hand_back();
  count(counts_.given_up);
  unmade_ = true;
  short_of_space_.store(false, std::memory_order_relaxed);
  written_ = closed_;
  gap_end_.store(closed_ + 1, std::memory_order_release);
  failures_.store(failures_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  passed_.store(closed_, std::memory_order_release);
  turn_ = turn::open;
  {
    const std::lock_guard lock(mutex_);
    last_error_ = path + ": " + text_of(error);
  }
  judge();
  hooks_.warn("journal: " + path + ": " + text_of(error) +
              "; these records are not on disk, and no write is answered before a checkpoint is");
  hooks_.on_change();
}

void JournalWriter::cannot(const char* what, int error, std::uint64_t now_ns) {
  MXKV_ASSERT(error != 0, "what cannot be done has a reason");
  count(counts_.no_space);
  retry_ns_ = now_ns + kRetryNs;
  if (turn_ == turn::writing) {
    short_of_space_.store(true, std::memory_order_relaxed);
  } else {
    ahead_failed_ = true;
  }
  {
    const std::lock_guard lock(mutex_);
    last_error_ = text_of(error);
  }
  judge();
  warn(std::string("journal: no room for ") + what + ": " + text_of(error) + "; tried again each second");
  hooks_.on_change();
}

void JournalWriter::hand_back() noexcept {
  for (Lane& lane : lanes_) {
    if (lane.group_first != nullptr) {
      lane.buffer->give_back(lane.group_first, lane.group_last);
      lane.group_first = lane.group_last = nullptr;
    }
  }
}

bool JournalWriter::upkeep(std::uint64_t now_ns) {
  if (const DiskOutcome outcome = store_.keep_history(history_bytes_.load(std::memory_order_relaxed),
                                                      most_bytes_.load(std::memory_order_relaxed));
      !outcome.ok()) {
    warn("journal: segments of its history cannot be removed: " + text_of(outcome.error));
  }
  if (const std::uint64_t epoch = truncate_.load(std::memory_order_relaxed); epoch > truncated_) {
    truncated_ = epoch;
    if (const DiskOutcome outcome = store_.truncate(epoch); !outcome.ok()) {
      warn("journal: old segments cannot be removed: " + text_of(outcome.error));
    }
    judge();
    hooks_.on_change();
    return true;
  }
  if (is_full() != full_) {
    judge();
    hooks_.on_change();
  }
  const std::uint64_t synced = synced_.load(std::memory_order_relaxed);
  if (needed_on_disk_.load(std::memory_order_relaxed) > synced && written_ > synced && !unmade_) {
    MXKV_ASSERT(turn_ == turn::open, "what was written is synced between groups");
    if (const DiskOutcome outcome = store_.sync(); outcome.ok()) {
      synced_.store(written_, std::memory_order_release);
      proven_ = written_;
      hooks_.on_change();
    } else {
      give_up(outcome.error);
    }
    return true;
  }
  if (ahead_failed_ && now_ns < retry_ns_) {
    return false;
  }
  bool did = false;
  if (const DiskOutcome outcome = store_.allocate_ahead(did); !outcome.ok()) {
    cannot("the next segment", outcome.error, now_ns);
    return false;
  }
  if (std::exchange(ahead_failed_, false)) {
    judge();
    hooks_.on_change();
  }
  return did;
}

bool JournalWriter::is_exact(const JournalMode& mode) noexcept {
  return mode.sync == config::sync_mode::commit && mode.readers_wait;
}

// Without records no group is written. Then the ceiling on disk falls behind the clock, and a process that is killed
// just after a change might leave cas values with clients that the next one mints again, if its clock went back. So
// replies and reads wait as in sync commit until the next group.
void JournalWriter::cover(std::uint64_t begin_ns) noexcept {
  covered_ns_.store(is_exact(mode_) ? 0 : begin_ns + kCoveredNs, std::memory_order_relaxed);
  free_readers();
}

void JournalWriter::free_readers() noexcept {
  const std::uint64_t until_ns = covered_ns_.load(std::memory_order_relaxed);
  epochs_.free_readers(is_exact(mode_) ? 0 : clock_.steady_us(until_ns));
}

void JournalWriter::apply_mode() {
  MXKV_ASSERT(next_mode_.has_value(), "there is another mode to go by");
  mode_ = *std::exchange(next_mode_, std::nullopt);
  const bool commit = mode_.sync == config::sync_mode::commit;
  const std::uint64_t interval = mode_.sync == config::sync_mode::interval ? mode_.interval_ns : kNoLimit;
  allowed_ns_.store(commit ? 0 : interval, std::memory_order_relaxed);
  free_readers();
}

bool JournalWriter::is_full() const noexcept {
  const std::uint64_t most = most_bytes_.load(std::memory_order_relaxed);
  return most != 0 && store_.needed_bytes() > most;
}

void JournalWriter::judge() {
  full_ = is_full();
  const bool refuses = out_of_space() || ahead_failed_ || full_;
  {
    const std::lock_guard lock(mutex_);
    if (unmade_ || out_of_space() || ahead_failed_) {
      refusal_ = last_error_;
    } else {
      refusal_ = full_ ? "it is larger than its limit of " +
                             std::to_string(most_bytes_.load(std::memory_order_relaxed)) +
                             " bytes (durability.journal_most)"
                       : std::string{};
    }
  }
  state_.store(unmade_   ? journal_state::broken
               : refuses ? journal_state::refusing
                         : journal_state::running,
               std::memory_order_release);
}

void JournalWriter::note_flush(std::uint64_t begin_ns) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  const std::uint64_t took_ns = now_ns - begin_ns;
  flush_times_.add(took_ns);
  if (took_ns > kSlowNs) {
    count(counts_.slow);
    warn("journal: a flush took " + std::to_string(took_ns / 1'000'000) + " ms");
  }
}

void JournalWriter::warn(const std::string& text) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  if (warned_ns_ == 0 || now_ns - warned_ns_ >= kSecondNs) {
    warned_ns_ = now_ns;
    hooks_.warn(text);
  }
}

}  // namespace mxkv::server

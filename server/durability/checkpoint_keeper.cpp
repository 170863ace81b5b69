#include "server/durability/checkpoint_keeper.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "config/parse.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kLeastGrowth = std::uint64_t{1} << 30U;
constexpr std::uint64_t kForever = ~std::uint64_t{0};
constexpr std::uint64_t kAfterFailureNs = 1'000'000'000;
constexpr std::uint64_t kBetweenLooksNs = 100'000'000;
constexpr std::uint64_t kBetweenLooksBytes = std::uint64_t{1} << 18U;
constexpr std::uint64_t kWhileOneGoesOnNs = 50'000'000;
constexpr std::uint64_t kLookAtClockNs = 1'000'000'000;
/// If the wall clock has moved by so many seconds against the steady one, it was set.
constexpr std::int64_t kStepOfClock = 2;

}  // namespace

bool checkpoint_due(const config::CheckpointOptions& options, const CheckpointView& view) noexcept {
  if (view.broken) {
    return true;
  }
  const std::uint64_t growth =
      options.journal_bytes != 0 ? options.journal_bytes : std::max(view.last_bytes, kLeastGrowth);
  return view.written_bytes >= growth ||
         (options.every_ms != 0 && view.written_bytes != 0 && view.age_ms >= options.every_ms);
}

std::uint64_t most_journal_bytes(std::uint64_t option, std::uint64_t checkpoint_bytes) noexcept {
  return option != 0 ? option : 4 * checkpoint_bytes + 4 * kLeastGrowth;
}

CheckpointKeeper::CheckpointKeeper(Journal& journal, const runtime::Clock& clock,
                                   const config::DurabilityOptions& options, std::uint64_t journal_bytes,
                                   std::function<std::uint64_t()> greatest_order, KeeperLines lines)
    : JournalCheckpoints(journal, std::move(greatest_order)),
      journal_(journal),
      clock_(clock),
      lines_(std::move(lines)),
      counted_from_(0 - journal_bytes),  // wraps around: bytes from before the start count as written
      last_end_ns_(clock.monotonic_ns()),
      wall_ahead_s_(clock.wall_ahead_s()),
      options_(options) {}

CheckpointKeeper::~CheckpointKeeper() {
  stop();
}

void CheckpointKeeper::start(Checkpointer& checkpointer) {
  MXKV_ASSERT(checkpointer_ == nullptr, "a keeper is started once");
  checkpointer_ = &checkpointer;
  thread_ = std::thread([this] { run(); });
}

void CheckpointKeeper::stop() {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_relaxed);
    bell_.ring();
    thread_.join();
  }
}

void CheckpointKeeper::journal_changed() {
  const JournalWriter& writer = journal_.writer();
  const std::uint64_t now_ns = clock_.monotonic_ns();
  const std::uint64_t bytes = writer.counts().bytes.load(std::memory_order_relaxed);
  const std::uint64_t failures = writer.failures();
  if (now_ns - rung_ns_ >= kBetweenLooksNs || bytes - rung_bytes_ >= kBetweenLooksBytes ||
      failures != rung_failures_ || wants_first_.load(std::memory_order_relaxed)) {
    rung_ns_ = now_ns;
    rung_bytes_ = bytes;
    rung_failures_ = failures;
    bell_.ring();
  }
}

void CheckpointKeeper::set_options(const config::DurabilityOptions& options) {
  {
    const std::scoped_lock lock{mutex_};
    options_ = options;
  }
  bell_.ring();
}

void CheckpointKeeper::run() {
  pthread_setname_np(pthread_self(), "mxkv-keeper");
  while (!stopping_.load(std::memory_order_relaxed)) {
    look_at_clock();
    bell_.wait(std::min(look(), kLookAtClockNs));
  }
}

void CheckpointKeeper::look_at_clock() {
  const std::int64_t ahead_s = clock_.wall_ahead_s();
  if (std::abs(ahead_s - wall_ahead_s_) >= kStepOfClock) {
    wall_ahead_s_ = ahead_s;
    journal_.need(journal_.epochs().current(), true);
  }
}

// Begins a checkpoint if one is due. Returns how long (ns) to wait for the next look.
std::uint64_t CheckpointKeeper::look() {
  const CheckpointStatus status = checkpointer_->status();
  const std::uint64_t now_ns = clock_.monotonic_ns();
  MXKV_ASSERT(status.completed >= completed_ && status.failed >= failed_, "checkpoints are counted upwards");
  if (status.completed != completed_) {
    completed_ = status.completed;
    last_end_ns_ = now_ns;
    tell_of_completed(status);
  }
  if (status.failed != failed_) {
    failed_ = status.failed;
    not_before_ns_ = now_ns + kAfterFailureNs;
    if (lines_.warn) {
      lines_.warn("checkpoint: " + status.last_error);
    }
  }
  const std::uint64_t last_bytes = status.last ? status.last->bytes : 0;
  config::DurabilityOptions options;
  {
    const std::scoped_lock lock{mutex_};
    options = options_;
  }
  journal_.set_most_bytes(most_journal_bytes(options.journal_most_bytes, last_bytes));
  const std::uint64_t written = journal_.writer().counts().bytes.load(std::memory_order_relaxed) -
                                counted_from_.load(std::memory_order_relaxed);
  const std::uint64_t age_ms = (now_ns - last_end_ns_) / kNsPerMs;
  const bool broken = journal_.writer().state() == journal_state::broken;
  if (status.stage != checkpoint_stage::idle) {
    if (broken && status.epoch != 0 && status.epoch < journal_.writer().gap_end()) {
      checkpointer_->abandon();  // the checkpoint lacks records that were lost since
    }
    return kWhileOneGoesOnNs;
  }
  if (!checkpoint_due(
          options.checkpoint,
          {.written_bytes = written, .last_bytes = last_bytes, .age_ms = age_ms, .broken = broken})) {
    const bool waits = options.checkpoint.every_ms != 0 && written != 0;
    wants_first_.store(options.checkpoint.every_ms != 0 && written == 0, std::memory_order_relaxed);
    return waits ? std::max<std::uint64_t>(options.checkpoint.every_ms - age_ms, 1) * kNsPerMs : kForever;
  }
  if (now_ns < not_before_ns_) {
    return not_before_ns_ - now_ns;
  }
  (void)checkpointer_->begin();
  return kWhileOneGoesOnNs;
}

void CheckpointKeeper::tell_of_completed(const CheckpointStatus& status) const {
  if (lines_.debug && status.last) {
    const CheckpointEntry& entry = *status.last;
    lines_.debug(fmt::format("checkpoint: ended after {:.3f} s, {} items in {}", status.last_seconds,
                             entry.items, config::format_size_rounded(entry.bytes)));
  }
}

// Called for each checkpoint, also for one that an operator asked for.
std::uint64_t CheckpointKeeper::end_epoch() {
  if (lines_.debug) {
    lines_.debug("checkpoint: begins");
  }
  begun_bytes_.store(journal_.writer().counts().bytes.load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
  return JournalCheckpoints::end_epoch();
}

void CheckpointKeeper::checkpointed(std::uint64_t epoch) {
  MXKV_ASSERT(epoch != 0, "the journal is shortened up to an epoch that ended");
  counted_from_.store(begun_bytes_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  JournalCheckpoints::checkpointed(epoch);
  bell_.ring();
}

}  // namespace mxkv::server

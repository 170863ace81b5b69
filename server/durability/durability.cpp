#include "server/durability/durability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "server/durability/access_notes.hpp"
#include "server/durability/journal_continuation.hpp"
#include "server/durability/record_text.hpp"

namespace mxkv::server {

namespace {

JournalMode mode_of(const config::DurabilityOptions& options) {
  return {.sync = options.sync,
          .interval_ns = options.interval_ms * kNsPerMs,
          .readers_wait =
              options.sync == config::sync_mode::commit && options.reads == config::read_mode::durable};
}

CheckpointOptions checkpoint_options(const config::CheckpointOptions& options, std::size_t workers) {
  return {.rate_bytes = options.rate,
          .compress = options.compress,
          .parts = static_cast<std::uint32_t>(std::max<std::size_t>(4, 2 * workers))};
}

}  // namespace

runtime::Result<HeldDirectory> Durability::open_directory(const std::string& path) {
  runtime::Result<std::unique_ptr<PosixDisk>> disk = PosixDisk::open_directory(path);
  if (!disk) {
    return disk.error();
  }
  runtime::Result<DataDirectory> data = open_data_directory(*disk.value());
  if (!data) {
    const std::string& what = data.error().message;
    return runtime::Error{what.starts_with(path) ? what : path + ": " + what};
  }
  return HeldDirectory{std::move(disk).value(), std::move(data).value()};
}

Durability::Durability(HeldDirectory held, const config::DurabilityOptions& options,
                       const RecoverySettings& settings, runtime::Runtime& runtime, Store& store,
                       DurabilityLog& log)
    : runtime_(runtime), store_(store), log_(log), held_(std::move(held)), options_(options) {
  const std::uint64_t begin_ns = runtime.clock().monotonic_ns();
  const runtime::Result<Recovered> found = recover(*held_.disk, held_.data.manifest, store,
                                                   {.left_out = settings.evict ? &left_out_ : nullptr,
                                                    .recover_prefix = settings.recover_prefix,
                                                    .resume_time = settings.resume_time,
                                                    .progress = settings.progress});
  if (!found) {
    throw StartRefused{found.error().message};
  }
  recovered_items_ = found.value().items;
  recovery_ms_ = (runtime.clock().monotonic_ns() - begin_ns) / kNsPerMs;
  tell(found.value(), static_cast<double>(recovery_ms_) / 1000);
  begin_journal(found.value());
}

Durability::~Durability() {
  store_.tree().commits().listen(nullptr);
}

void Durability::tell(const Recovered& found, double seconds) {
  if (!found.torn.empty()) {
    log_.info("journal: the end that a crash tore is cut: " + found.torn);
  }
  if (!found.gap.empty()) {
    log_.warn("journal: it ends at a gap: " + found.gap);
  }
  if (!found.left_off.empty()) {
    log_.warn("journal: the records behind damage are left out: " + found.left_off);
  }
  if (found.clock_behind) {
    log_.warn("journal: the wall clock is behind the last group, of " + utc_text(found.last_unix_us) +
              "; times to live and cas values go on from that time, without the time in which no server ran");
  }
  if (left_out_.size() != 0) {
    log_.warn(
        fmt::format("journal: {} items do not fit into the memory limit; the oldest are evicted, and the "
                    "journal records it",
                    left_out_.size()));
  }
  log_.info(fmt::format(
      "journal: {} items in {:.1f} s (checkpoint {:.1f} s, {} records {:.1f} s), up to epoch {}{}",
      found.items, seconds, found.checkpoint_seconds, found.records, found.journal_seconds, found.epoch,
      found.last_unix_us == 0 ? "" : " of " + utc_text(found.last_unix_us)));
}

void Durability::begin_journal(const Recovered& found) {
  MXKV_ASSERT(journal_ == nullptr, "a journal goes on once");
  const runtime::Clock& clock = runtime_.clock();
  if (const auto error = begin_service(*held_.disk, held_.data, clock.unix_us(), found.epoch + 1)) {
    throw StartRefused{error->message};
  }
  manifest_ = std::make_unique<ManifestFile>(*held_.disk, held_.data.manifest);
  std::uint64_t journal_bytes = 0;
  for (const KnownSegment& segment : found.segments) {
    journal_bytes += segment.needed ? segment.bytes : 0;
  }
  const auto greatest_order = [this] {
    return std::max(store_.greatest_order(runtime_.clock().steady_us()), store_.tree().commits().floor());
  };
  const std::uint64_t checkpoint_bytes =
      held_.data.manifest.checkpoint ? held_.data.manifest.checkpoint->bytes : 0;
  journal_ = std::make_unique<Journal>(
      *held_.disk, clock,
      JournalOptions{
          .workers = runtime_.worker_count(),
          .first_epoch = found.epoch + 1,
          .horizon_us = found.ceiling,
          .segments = segments_behind(found, *manifest_, options_.segment_bytes),
          .writer = {.mode = mode_of(options_),
                     .early_bytes =
                         std::min<std::uint64_t>(WriterOptions{}.early_bytes, options_.buffer_bytes / 4),
                     .most_bytes = most_journal_bytes(options_.journal_most_bytes, checkpoint_bytes)},
          .budget = &runtime_.budget(),
          .gate = {.most_waiting = options_.buffer_bytes,
                   .wake = [this](std::size_t worker) { wake_(worker); }}},
      WriterHooks{.greatest_order = greatest_order,
                  .on_change = [this] { changed(); },
                  .warn = [this](std::string_view text) { log_.warn(std::string{text}); }});
  std::vector<RecordBuffer*> buffers;
  for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
    const runtime::WorkerId id{static_cast<std::uint16_t>(i)};
    journal_->buffer(id).set_context(&runtime_.worker(id));
    buffers.push_back(&journal_->buffer(id));
  }
  feed_ = std::make_unique<StoreJournal>(std::move(buffers), record_times::steady);
  keeper_ =
      std::make_unique<CheckpointKeeper>(*journal_, clock, options_, journal_bytes, greatest_order,
                                         KeeperLines{[this](const std::string& text) { log_.warn(text); },
                                                     [this](const std::string& text) { log_.debug(text); }});
  checkpointer_ =
      std::make_unique<Checkpointer>(*held_.disk, *manifest_, store_, *keeper_,
                                     checkpoint_options(options_.checkpoint, runtime_.worker_count()));
  store_.tree().commits().listen(feed_.get());
}

// Reads are served although the disk is full. The writer then refuses writes, and brings the first group to
// the disk as soon as there is room. Keys that the start left out are recorded before any client is served:
// clients learn that these keys are absent, so no later start may bring them back.
void Durability::start(std::function<void(std::size_t)> wake) {
  MXKV_ASSERT(wake != nullptr && wake_ == nullptr, "it is started once, and wakes the workers");
  wake_ = std::move(wake);
  served_from_us_ = runtime_.clock().steady_us();
  if (const std::string wrong = journal_->begin(); !wrong.empty()) {
    throw StartRefused{wrong};
  }
  if (left_out_.size() != 0) {
    record_left_out(left_out_, store_.tree().commits().claim(0), *journal_);
    left_out_.clear();
    if (const std::string wrong = journal_->write_now(); !wrong.empty()) {
      throw StartRefused{wrong};
    }
  }
  journal_->start();
  checkpointer_->start();
  keeper_->start(*checkpointer_);
}

// On the writer's thread, after each group and each failure.
void Durability::changed() {
  if (wake_ == nullptr) {
    return;  // the start is not complete
  }
  {
    const std::scoped_lock lock{reader_mutex_};
    if (reader_) {
      reader_();
    }
  }
  keeper_->journal_changed();
  const JournalWriter& writer = journal_->writer();
  if (const std::uint64_t failures = writer.failures(); failures != failures_) [[unlikely]] {
    failures_ = failures;
    const std::string text = "journal: " + writer.last_error();
    bool exits = false;
    {
      const std::scoped_lock lock{mutex_};
      exits = options_.on_failure == config::failure_action::exit;
    }
    if (exits) {
      log_.fatal(text);
    }
    log_.warn(text + "; the replies that waited for it are not sent, and a checkpoint is made");
  }
  if (std::string refusal = writer.refusal(); refusal != refusal_) [[unlikely]] {
    if (refusal.empty()) {
      log_.info("journal: writes are served again");
    } else {
      log_.warn("journal: writes are refused: " + refusal);
    }
    refusal_ = std::move(refusal);
  }
}

void Durability::tell_reader(std::function<void()> changed) {
  const std::scoped_lock lock{reader_mutex_};
  reader_ = std::move(changed);
}

void Durability::apply(const config::DurabilityOptions& options) {
  {
    const std::scoped_lock lock{mutex_};
    options_ = options;
  }
  journal_->set_mode(mode_of(options));
  checkpointer_->set_options(checkpoint_options(options.checkpoint, runtime_.worker_count()));
  keeper_->set_options(options);
}

std::string Durability::checkpoint_now() {
  const CheckpointStatus before = checkpointer_->status();
  (void)checkpointer_->begin();
  while (!journal_->writer().out_of_space()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    const CheckpointStatus now = checkpointer_->status();
    if (now.completed != before.completed) {
      return {};
    }
    if (now.failed != before.failed) {
      return now.last_error;
    }
  }
  return journal_->writer().last_error() +
         ": it needs room for itself, and for a page of journal. Make room on the file system, or copy the "
         "directory to another one: mxkvd checkpoint DIR --to BACKUP";
}

void Durability::finish() {
  keeper_->stop();
  checkpointer_->stop();
  checkpointer_->release(runtime_.worker(runtime::WorkerId{0}));
  record_accesses(store_, std::max(served_from_us_, checkpointer_->status().ages_from_us),
                  runtime_.clock().steady_us(), *journal_);
  if (!journal_->flush_all_now()) {
    log_.warn("journal: the last records are not on disk: " + journal_->writer().last_error());
    return;
  }
  if (const auto error =
          note_orderly_end(*manifest_, *journal_, runtime_.clock().unix_us(), keeper_->ceiling())) {
    log_.warn("journal: " + error->message);
  }
}

DurabilityStatus Durability::status() const {
  DurabilityStatus status;
  {
    const std::scoped_lock lock{mutex_};
    status.options = options_;
  }
  const JournalWriter& writer = journal_->writer();
  const JournalMode mode = writer.mode();  // in force, which follows the options when a group is on disk
  status.options.sync = mode.sync;
  status.options.interval_ms = static_cast<std::uint32_t>(mode.interval_ns / kNsPerMs);
  if (mode.sync == config::sync_mode::commit) {
    status.options.reads = mode.readers_wait ? config::read_mode::durable : config::read_mode::latest;
  }
  const WriterCounts& counts = writer.counts();
  status.epoch_current = journal_->epochs().current();
  status.epoch_durable = journal_->epochs().durable();
  status.behind_ms = writer.behind_ns(runtime_.clock().monotonic_ns()) / kNsPerMs;
  status.waiting_bytes = journal_->waiting_bytes();
  status.journal_bytes = journal_->segments().total_bytes();
  status.segments = journal_->segments().segments();
  status.bytes_written = counts.bytes.load(std::memory_order_relaxed);
  status.records = counts.records.load(std::memory_order_relaxed);
  status.groups = counts.groups.load(std::memory_order_relaxed);
  status.slow_flushes = counts.slow.load(std::memory_order_relaxed);
  status.failures = writer.failures();
  status.flushes = writer.flush_times().figures();
  status.checkpoint = checkpointer_->status();
  status.journal_most = most_journal_bytes(status.options.journal_most_bytes,
                                           status.checkpoint.last ? status.checkpoint.last->bytes : 0);
  status.recovered_items = recovered_items_;
  status.recovery_ms = recovery_ms_;
  status.refusal = writer.refusal();
  status.last_error = writer.last_error();
  return status;
}

}  // namespace mxkv::server

#include "server/journal/journal.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace mxkv::server {

Journal::Journal(Disk& disk, const runtime::Clock& clock, JournalOptions options, WriterHooks hooks)
    : CommitGate(options.workers, std::move(options.gate)),
      disk_(disk),
      clock_(clock),
      epochs_(options.workers, options.first_epoch, options.horizon_us),
      share_{.epochs = &epochs_, .budget = options.budget},
      desks_([&] {
        std::vector<std::unique_ptr<CommitDesk>> desks;
        for (std::size_t i = 0; i < options.workers; ++i) {
          desks.push_back(std::make_unique<CommitDesk>(share_));
        }
        return desks;
      }()),
      store_(disk, std::move(options.segments)),
      writer_(share_, buffers(), store_, clock, options.writer, gate_first(std::move(hooks))),
      first_epoch_(options.first_epoch) {}

Journal::~Journal() {
  stop();
}

WriterHooks Journal::gate_first(WriterHooks hooks) {
  hooks.on_change = [this, others = std::move(hooks.on_change)] {
    note_refusal();
    changed();
    others();
  };
  return hooks;
}

void Journal::note_refusal() {
  const std::string reason = writer_.refusal();
  const char* text = nullptr;
  if (!reason.empty()) {
    auto known = std::ranges::find(refusals_, reason);
    if (known == refusals_.end()) {
      known = refusals_.insert(refusals_.end(), reason);
    }
    text = known->c_str();
  }
  refusal_.store(text, std::memory_order_release);  // pairs with refusal()
}

std::uint64_t Journal::must_wait_for() const noexcept {
  const std::uint64_t recorded = epochs_.last_recorded();
  if (recorded <= epochs_.durable()) {
    return 0;
  }
  return writer_.replies_wait(clock_.monotonic_ns()) ? recorded : 0;
}

std::vector<RecordBuffer*> Journal::buffers() const {
  std::vector<RecordBuffer*> buffers;
  for (const std::unique_ptr<CommitDesk>& desk : desks_) {
    buffers.push_back(&desk->buffer);
  }
  return buffers;
}

std::string Journal::prepare() {
  const DiskOutcome outcome = store_.prepare();
  return outcome.ok() ? std::string{}
                      : disk_.text(store_.unproven_path(), outcome.error) +
                            (outcome.no_space() ? ": the journal's end is copied before anybody may read it, "
                                                  "and there is no room for that"
                                                : "");
}

DiskOutcome Journal::make_first_segment() {
  return store_.make_room(
      kPageBytes, {.epoch = first_epoch_, .durable = first_epoch_ - 1, .created_us = clock_.unix_us()});
}

std::string Journal::open() {
  if (std::string wrong = prepare(); !wrong.empty()) {
    return wrong;
  }
  const DiskOutcome outcome = make_first_segment();
  return outcome.ok() ? std::string{} : disk_.text(store_.path(), outcome.error);
}

std::string Journal::begin() {
  if (std::string wrong = prepare(); !wrong.empty()) {
    return wrong;
  }
  const DiskOutcome outcome = make_first_segment();
  if (!outcome.ok() && !outcome.no_space()) {
    return disk_.text(store_.path(), outcome.error);
  }
  return write_now();
}

std::string Journal::write_now() {
  MXKV_ASSERT(!thread_.joinable(), "before it is started, the caller writes");
  const std::uint64_t last = epochs_.current();
  writer_.need(last, true);
  while (writer_.synced() < last && writer_.state() == journal_state::running) {
    static_cast<void>(writer_.step());
  }
  return writer_.state() == journal_state::broken ? writer_.last_error() : std::string{};
}

void Journal::start() {
  MXKV_ASSERT(!thread_.joinable(), "a journal is started once");
  thread_ = std::thread([this] { run(); });
}

void Journal::run() {
  pthread_setname_np(pthread_self(), "mxkv-journal");
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!writer_.step()) {
      signal_.sleep(writer_.sleep_ns());
    }
  }
}

void Journal::stop() {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_relaxed);
    signal_.raise();
    thread_.join();
  }
}

bool Journal::flush_all_now() {
  stop();
  for (std::size_t i = 0; i < desks_.size(); ++i) {
    park(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  MXKV_ASSERT(!thread_.joinable(), "whoever writes the end is the only one who writes");
  const std::uint64_t last = epochs_.current();
  writer_.need(last, true);
  writer_.retry_now();
  while (writer_.synced() < last && writer_.step()) {
  }
  return writer_.synced() >= last && writer_.state() != journal_state::broken;
}

void Journal::park(runtime::WorkerId worker) noexcept {
  if (desks_[worker.index()]->park(epochs_, worker)) {
    writer_.note_news();
    signal_.raise();
  }
}

void Journal::need(std::uint64_t epoch, bool on_disk) noexcept {
  writer_.need(epoch, on_disk);
  signal_.raise();
}

std::uint64_t Journal::end_epoch() noexcept {
  // Needs no acquire: the caller waits for passed().
  const std::uint64_t epoch = epochs_.current();
  need(epoch);
  return epoch;
}

void Journal::set_mode(const JournalMode& mode) {
  writer_.set_mode(mode);
  signal_.raise();
}

void Journal::set_most_bytes(std::uint64_t bytes) noexcept {
  if (writer_.set_most_bytes(bytes)) {
    signal_.raise();
  }
}

void Journal::set_history_bytes(std::uint64_t bytes) noexcept {
  writer_.set_history_bytes(bytes);
  signal_.raise();
}

void Journal::truncate(std::uint64_t before_epoch) noexcept {
  writer_.truncate(before_epoch);
  signal_.raise();
}

void Journal::rebased(std::uint64_t checkpoint_epoch) noexcept {
  writer_.rebased(checkpoint_epoch);
  signal_.raise();
}

}  // namespace mxkv::server

#include "server/durability/checkpointer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/probe.hpp"
#include "server/durability/checkpoint_files.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kForEver = ~std::uint64_t{0};
constexpr std::uint64_t kLookAgainNs = 5'000'000;

/// The epoch that the last checkpoint began with; 0: there is none.
std::uint64_t begun_of(const std::optional<CheckpointEntry>& last) noexcept {
  return last ? last->begun : 0;
}

}  // namespace

Checkpointer::Checkpointer(Disk& disk, ManifestFile& manifest, Store& store, CheckpointJournal& journal,
                           const CheckpointOptions& options)
    : disk_(disk), manifest_(manifest), store_(store), journal_(journal), next_options_(options) {
  status_.last = manifest.get().checkpoint;
}

Checkpointer::~Checkpointer() {
  stop();
  for (const PartScan& scan : scans_) {
    MXKV_ASSERT(scan.now() != PartScan::state::running, "scans end before their checkpoint does");
  }
}

bool Checkpointer::begin() {
  if (wanted_.exchange(true, std::memory_order_relaxed)) {
    return false;
  }
  abandoned_.store(false, std::memory_order_relaxed);
  bell_.ring();
  return true;
}

void Checkpointer::abandon() {
  abandoned_.store(true, std::memory_order_relaxed);
  bell_.ring();
}

void Checkpointer::set_options(const CheckpointOptions& options) {
  const std::scoped_lock lock{mutex_};
  next_options_ = options;
}

CheckpointStatus Checkpointer::status() const {
  const std::scoped_lock lock{mutex_};
  CheckpointStatus status = status_;
  status.running = wanted_.load(std::memory_order_relaxed);
  return status;
}

void Checkpointer::start() {
  MXKV_ASSERT(!thread_.joinable(), "a checkpointer is started once");
  thread_ = std::thread{[this] {
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (!step()) {
        bell_.wait(pause_ns());
      }
    }
  }};
}

void Checkpointer::stop() {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_relaxed);
    bell_.ring();
    thread_.join();
  }
}

void Checkpointer::release(runtime::Worker& worker) noexcept {
  for (PartScan& scan : scans_) {
    scan.drop(worker);
  }
}

std::uint64_t Checkpointer::pause_ns() const noexcept {
  const std::uint64_t now = store_.tree().runtime().clock().monotonic_ns();
  switch (stage_) {
    case stage::idle:
      return kForEver;
    case stage::scan:
      return free_at_ns_ > now ? free_at_ns_ - now : kForEver;
    case stage::begin:
    case stage::wait:
      return kLookAgainNs;
    default:
      return kForEver;
  }
}

bool Checkpointer::step() {
  if (stage_ == stage::idle) {
    if (!wanted_.load(std::memory_order_relaxed)) {
      return false;
    }
    MXKV_ASSERT(scans_.empty() && writers_.empty(), "nothing of the last checkpoint is left");
    remove_unnamed_checkpoints(disk_, manifest_.get().checkpoint);
    begun_ns_ = store_.tree().runtime().clock().monotonic_ns();
    ended_epoch_ = journal_.end_epoch();
    go_to(stage::begin);
    return true;
  }
  switch (stage_) {
    case stage::begin:
      return step_begin();
    case stage::settle:
      return step_settle();
    case stage::cut:
      return step_cut();
    case stage::scan:
      return step_scan();
    case stage::wait:
      return step_wait();
    case stage::verify:
      return step_verify();
    case stage::name:
      return step_name();
    default:
      return step_end();
  }
}

bool Checkpointer::step_begin() {
  if (abandoned_.load(std::memory_order_relaxed)) {
    fail("it was abandoned");
    return true;
  }
  if (journal_.passed() < ended_epoch_) {
    return false;
  }
  MXKV_PROBE1(checkpoint_begin, ended_epoch_ + 1);
  fence_ = std::make_unique<CheckpointFence>(store_, bell_);
  fence_->start(some_worker());
  go_to(stage::settle);
  return true;
}

bool Checkpointer::step_settle() {
  if (!fence_->done()) {
    return false;
  }
  const bool failed = fence_->failed();
  fence_.reset();
  if (failed || abandoned_.load(std::memory_order_relaxed)) {
    fail("it was abandoned");
    return true;
  }
  {
    const std::scoped_lock lock{mutex_};
    options_ = next_options_;
  }
  entry_ = {};
  entry_.begun = ended_epoch_ + 1;
  MXKV_ASSERT(entry_.begun > begun_of(manifest_.get().checkpoint), "a checkpoint begins behind the last one");
  scans_from_us_ = store_.tree().runtime().clock().steady_us();
  entry_.made_us = store_.tree().runtime().clock().unix_us();
  entry_.flushes = {store_.flush_points().next.load(std::memory_order_relaxed),
                    store_.flush_points().before.load(std::memory_order_relaxed)};
  int error = disk_.create_directory(checkpoint_path(entry_.begun));
  error = error == EEXIST ? 0 : error;
  error = error != 0 ? error : disk_.sync_directory(kCheckpointDirectory);
  if (error != 0) {
    fail(disk_.text(checkpoint_path(entry_.begun), error));
    return true;
  }
  cut_ = std::make_unique<CheckpointCut>(store_, bell_);
  cut_->start(some_worker(), entry_.begun);
  go_to(stage::cut);
  return true;
}

bool Checkpointer::step_cut() {
  if (!cut_->done()) {
    return false;
  }
  if (cut_->failed() || abandoned_.load(std::memory_order_relaxed)) {
    fail("it was abandoned");
    return true;
  }
  const KeyRanges ranges = std::move(*cut_).ranges(std::max(options_.parts, 1U));
  cut_.reset();
  const std::size_t parts = std::min<std::size_t>(ranges.size(), std::max(options_.parts, 1U));
  MXKV_ASSERT(parts > 0, "all keys are in some part");
  for (std::size_t i = 0; i < parts; ++i) {
    scans_.emplace_back(store_, bell_, ranges.from(i), i + 1 == parts ? std::string_view{} : ranges.to(i),
                        record_times::steady);
  }
  entry_.parts = static_cast<std::uint32_t>(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    if (const std::string wrong = open_part(i); !wrong.empty()) {
      fail(wrong);
      return true;
    }
  }
  request_ = store_.tree().runtime().new_request();
  for (PartScan& scan : scans_) {
    scan.start(some_worker(), request_);
  }
  go_to(stage::scan);
  return true;
}

bool Checkpointer::step_scan() {
  if (abandoned_.load(std::memory_order_relaxed)) {
    fail("it was abandoned");
    return true;
  }
  if (store_.tree().runtime().clock().monotonic_ns() < free_at_ns_) {
    return false;
  }
  bool all_ended = true;
  for (std::size_t n = 0; n < scans_.size(); ++n) {
    const std::size_t i = next_scan_++ % scans_.size();
    all_ended = all_ended && writers_[i] == nullptr;
    if (writers_[i] == nullptr || scans_[i].now() == PartScan::state::running) {
      continue;
    }
    if (scans_[i].now() == PartScan::state::failed) {
      fail("the workers have ended");
      return true;
    }
    std::string wrong = write_buffer(i);
    if (wrong.empty() && scans_[i].exhausted()) {
      wrong = end_part(i);
    } else if (wrong.empty()) {
      scans_[i].start(some_worker(), request_);
    }
    if (!wrong.empty()) {
      fail(wrong);
    }
    return true;
  }
  if (!all_ended) {
    return false;
  }
  for (const PartScan& scan : scans_) {
    MXKV_ASSERT(scan.exhausted(), "a checkpoint has all keys of each of its parts");
  }
  entry_.needs = journal_.last_recorded();
  // At least the first epoch. The last record may be of an epoch that was given up, and no later one comes
  // while writes are refused.
  journal_.need_on_disk(std::max(entry_.needs, entry_.begun));
  go_to(stage::wait);
  return true;
}

bool Checkpointer::step_wait() {
  if (abandoned_.load(std::memory_order_relaxed)) {
    fail("it was abandoned");
    return true;
  }
  if (!journal_.on_disk(std::max(entry_.needs, entry_.begun))) {
    return false;
  }
  const std::string path = checkpoint_path(entry_.begun);
  if (const int error = disk_.sync_directory(path); error != 0) {
    fail(disk_.text(path, error));
    return true;
  }
  verified_ = 0;
  go_to(stage::verify);
  return true;
}

bool Checkpointer::step_verify() {
  if (verified_ == entry_.parts) {
    go_to(stage::name);
    return true;
  }
  const auto part = Part::open(disk_, checkpoint_part_path(entry_.begun, verified_),
                               manifest_.get().directory, entry_.begun, verified_);
  if (!part) {
    fail(part.error().message);
    return true;
  }
  if (const auto items = verify_part(part.value()); !items) {
    fail(items.error().message);
    return true;
  }
  ++verified_;
  return true;
}

bool Checkpointer::step_name() {
  MXKV_ASSERT(entry_.parts > 0 && verified_ == entry_.parts,
              "a checkpoint counts when all of it was read back");
  MXKV_ASSERT(journal_.on_disk(std::max(entry_.needs, entry_.begun)),
              "a checkpoint counts when the records of what it has are on disk");
  const std::optional<CheckpointEntry> before = manifest_.get().checkpoint;
  const std::uint64_t ceiling = journal_.ceiling();
  const auto error = manifest_.change([&](Manifest& manifest) {
    manifest.checkpoint = entry_;
    manifest.ceiling = std::max(manifest.ceiling, ceiling);
    manifest.written_us = store_.tree().runtime().clock().unix_us();
  });
  if (error) {
    fail(error->message);
    return true;
  }
  journal_.checkpointed(entry_.begun);
  MXKV_PROBE3(checkpoint_end, entry_.begun, entry_.items, entry_.bytes);
  if (before) {
    remove_checkpoint(disk_, checkpoint_path(before->begun));
  }
  {
    const std::scoped_lock lock{mutex_};
    status_.last = entry_;
    status_.ages_from_us = scans_from_us_;
    ++status_.completed;
    status_.last_seconds =
        static_cast<double>(store_.tree().runtime().clock().monotonic_ns() - begun_ns_) / kNsPerSecond;
  }
  end();
  return true;
}

void Checkpointer::fail(const std::string& why) {
  MXKV_ASSERT(!why.empty() && stage_ != stage::idle, "a checkpoint that runs fails for a reason");
  {
    const std::scoped_lock lock{mutex_};
    ++status_.failed;
    status_.last_error = why;
  }
  writers_.clear();
  remove_unnamed_checkpoints(disk_, manifest_.get().checkpoint);
  end();
}

void Checkpointer::end() {
  go_to(stage::end);
}

bool Checkpointer::step_end() {
  bool all_ended = true;
  bool did = false;
  for (PartScan& scan : scans_) {
    if (scan.now() == PartScan::state::running) {
      all_ended = false;
    } else if (scan.buffer().holds_values()) {
      all_ended = false;
      if (scan.now() != PartScan::state::failed) {
        scan.release(some_worker());
        did = true;
      }
    }
  }
  if (!all_ended) {
    return did;
  }
  scans_.clear();
  writers_.clear();
  entry_ = {};
  wanted_.store(false, std::memory_order_relaxed);
  go_to(stage::idle);
  return true;
}

void Checkpointer::go_to(stage next) {
  stage_ = next;
  const std::scoped_lock lock{mutex_};
  if (next == stage::begin) {
    status_.items = 0;
    status_.bytes = 0;
    status_.fraction = 0;
  }
  status_.stage = next;
  status_.epoch = entry_.begun;
}

runtime::WorkerId Checkpointer::some_worker() noexcept {
  const std::size_t workers = store_.tree().runtime().worker_count();
  return runtime::WorkerId{static_cast<std::uint16_t>(turn_++ % workers)};
}

}  // namespace mxkv::server

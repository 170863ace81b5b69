#include "server/journal/segment_store.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/journal/segment_files.hpp"

namespace mxkv::server {
SegmentStore::SegmentStore(Disk& disk, SegmentOptions options)
    : disk_(disk),
      options_(std::move(options)),
      closed_(options_.closed.begin(), options_.closed.end()),
      chain_(options_.chain) {
  MXKV_ASSERT(options_.next_number > 0, "segments are numbered from 1");
  count();
}

std::string SegmentStore::path_of(const std::string& name) const {
  return options_.folder + "/" + name;
}

std::string SegmentStore::path_of(std::uint64_t number) const {
  return path_of(segment_name(number));
}

std::string SegmentStore::path() const {
  return path_of(file_ ? number_ : options_.next_number);
}

std::string SegmentStore::unproven_path() const {
  return options_.unproven.number == 0 ? options_.folder : path_of(options_.unproven.number);
}

DiskOutcome SegmentStore::prepare() {
  if (const int error = remove_spares(disk_, options_.folder)) {
    return {error};
  }
  const UnprovenTail& tail = options_.unproven;
  if (tail.number == 0) {
    return {};
  }
  if (const int error = replace_by_copy(disk_, options_.folder, path_of(tail.number), tail.end)) {
    return {error};
  }
  for (ClosedSegment& segment : closed_) {
    if (segment.number == tail.number) {
      segment.bytes = tail.end;  // without the room allocated ahead
    }
  }
  count();
  return {};
}

DiskOutcome SegmentStore::make_room(std::uint64_t bytes, const SegmentBegin& begin) {
  DiskOutcome outcome = try_room(bytes, begin);
  if (outcome.no_space() && !outcome.lost && frees_history()) {
    outcome = try_room(bytes, begin);
  }
  return outcome;
}

DiskOutcome SegmentStore::try_room(std::uint64_t bytes, const SegmentBegin& begin) {
  if (file_ && bytes <= bytes_ - offset_) {
    return {keep_end()};
  }
  if (file_) {
    if (const DiskOutcome left = leave(); !left.ok()) {
      return left;
    }
  }
  if (const DiskOutcome begun = begin_next(bytes, begin); !begun.ok()) {
    return begun;
  }
  return {keep_end()};
}

DiskOutcome SegmentStore::leave() {
  // In any mode: the next segment implies that this one is whole.
  if (const DiskOutcome synced = sync(); !synced.ok()) {
    return synced;
  }
  MXKV_ASSERT(closed_.empty() || closed_.back().number < number_, "segments are left in their order");
  closed_.push_back({number_, last_epoch_, bytes_});
  file_.reset();
  count();
  return {};
}

DiskOutcome SegmentStore::begin_next(std::uint64_t bytes, const SegmentBegin& begin) {
  MXKV_ASSERT(file_ == nullptr, "a segment is left before the next one begins");
  const std::uint64_t needed = kPageBytes + bytes;
  if (!spares_.empty() && spares_.front().bytes < needed) {
    if (const int error = spares_.front().file->allocate(needed)) {
      return {error};
    }
    spares_.front().bytes = needed;
  }
  if (spares_.empty()) {
    if (const int error = make_spare(std::max(needed, options_.segment_bytes))) {
      return {error};
    }
  }
  SegmentHeader header;
  header.directory = options_.directory;
  header.number = options_.next_number;
  header.first_epoch = begin.epoch;
  header.created_us = begin.created_us;
  header.chain_before = chain_;
  header.incarnation = options_.incarnation;
  header.after_gap = after_gap_;
  if (const int error = name_spare(header)) {
    if (spares_.front().path == path_of(header.number)) {
      ++options_.next_number;  // a crash may bring that name back
    }
    drop_spare();  // after a failed sync its contents are unknown
    count();
    return {error};
  }
  MXKV_ASSERT(begin.durable < begin.epoch, "a segment begins with an epoch that is not on disk");
  number_ = options_.next_number++;
  file_ = std::move(spares_.front().file);
  bytes_ = spares_.front().bytes;
  spares_.pop_front();
  offset_ = kPageBytes;
  last_epoch_ = begin.epoch - 1;
  end_to_keep_ = JournalEnd{number_, begin.durable};
  seed_ = segment_seed(options_.directory, number_);
  after_gap_ = false;
  unsynced_ = false;
  count();
  return {};
}

int SegmentStore::keep_end() {
  if (end_to_keep_ && options_.keep_end) {
    if (const int error = options_.keep_end(*end_to_keep_)) {
      return error;
    }
  }
  if (end_to_keep_) {
    options_.end_segment = end_to_keep_->segment;
  }
  end_to_keep_.reset();
  return 0;
}

int SegmentStore::make_spare(std::uint64_t bytes) {
  Spare spare;
  spare.path = path_of(std::string{kSparePrefix} + std::to_string(++spare_names_));
  spare.bytes = bytes;
  if (const int error = disk_.create(spare.path, spare.file)) {
    return error;
  }
  int error = spare.file->allocate(bytes);
  error = error != 0 ? error : spare.file->sync();
  if (error != 0) {
    spare.file.reset();
    static_cast<void>(disk_.remove(spare.path));  // a file that stays is removed at the next start
    return error;
  }
  spares_.push_back(std::move(spare));
  count();
  return 0;
}

int SegmentStore::name_spare(const SegmentHeader& header) {
  char page[kPageBytes];
  write_segment_header(page, header);
  const iovec piece{page, sizeof page};
  Spare& spare = spares_.front();
  int error = write_all(*spare.file, {&piece, 1}, 0);
  error = error != 0 ? error : spare.file->sync();
  const std::string path = path_of(header.number);
  error = error != 0 ? error : disk_.rename(spare.path, path);
  if (error == 0) {
    spare.path = path;  // drop_spare() removes this path, if the name does not reach the disk
    error = disk_.sync_directory(options_.folder);
  }
  return error;
}

void SegmentStore::drop_spare() noexcept {
  spares_.front().file.reset();
  static_cast<void>(disk_.remove(spares_.front().path));
  spares_.pop_front();
}

DiskOutcome SegmentStore::write(std::span<const iovec> pieces) {
  MXKV_ASSERT(file_ != nullptr, "a group is written to the place that was made for it");
  MXKV_ASSERT(!end_to_keep_, "a segment takes groups once the journal's end is kept");
  unsynced_ = true;
  DiskOutcome outcome{write_all(*file_, pieces, offset_)};
  outcome.lost = !outcome.ok() && !outcome.no_space();
  return outcome;
}

void SegmentStore::advance(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t chain) noexcept {
  MXKV_ASSERT(bytes <= bytes_ - offset_, "a group was written to the room that was made for it");
  MXKV_ASSERT(epoch == last_epoch_ + 1, "no epoch is left out of a segment");
  offset_ += bytes;
  last_epoch_ = epoch;
  chain_ = chain;
}

DiskOutcome SegmentStore::sync() {
  if (!unsynced_) {
    return {};
  }
  if (const int error = file_->sync()) {
    return {error, true};
  }
  unsynced_ = false;
  return {};
}

void SegmentStore::abandon() noexcept {
  if (file_) {
    closed_.push_back({number_, last_epoch_, bytes_});
    file_.reset();
  }
  unsynced_ = false;
  after_gap_ = true;
  count();
}

DiskOutcome SegmentStore::allocate_ahead(bool& did) {
  did = false;
  if (!file_ || !spares_.empty() || bytes_ - offset_ >= bytes_ / 2) {
    return {};
  }
  did = true;
  DiskOutcome outcome{make_spare(options_.segment_bytes)};
  if (outcome.no_space() && frees_history()) {
    outcome = {make_spare(options_.segment_bytes)};
  }
  return outcome;
}

DiskOutcome SegmentStore::truncate(std::uint64_t epoch) {
  options_.needed_from = std::max(options_.needed_from, epoch);
  count();
  return shorten(history_allowed_, shortening::behind_checkpoint);
}

DiskOutcome SegmentStore::keep_history(std::uint64_t history_bytes, std::uint64_t most_bytes) {
  history_allowed_ = history_bytes;
  const std::uint64_t needed = needed_bytes();
  const std::uint64_t room = most_bytes == 0 ? history_bytes : most_bytes - std::min(most_bytes, needed);
  const std::uint64_t kept = std::min(history_bytes, room);
  return history_bytes_.load(std::memory_order_relaxed) <= kept ? DiskOutcome{}
                                                                : shorten(kept, shortening::to_history);
}

/// The disk is full: gives all history back. Whether that made room.
bool SegmentStore::frees_history() {
  const std::uint64_t before = history_bytes_.load(std::memory_order_relaxed);
  return before != 0 && shorten(0, shortening::on_full_disk).ok() &&
         history_bytes_.load(std::memory_order_relaxed) < before;
}

/// A segment of no use goes only behind a checkpoint: until then an operator may want it. The segment of the kept end
/// stays, because a start has to find it.
DiskOutcome SegmentStore::shorten(std::uint64_t history_bytes, shortening why) {
  DiskOutcome outcome;
  std::vector<Spare> recycled;
  const std::size_t before = closed_.size();
  std::uint64_t kept = history_bytes_.load(std::memory_order_relaxed);
  for (auto segment = closed_.begin(); segment != closed_.end() && outcome.ok();) {
    const bool is_useless = segment->last_epoch == 0;
    const bool is_end = options_.end_segment != 0 && segment->number >= options_.end_segment;
    if (is_end || (!is_useless && !is_history(*segment))) {
      break;
    }
    if (is_useless ? why != shortening::behind_checkpoint : kept <= history_bytes) {
      ++segment;
      continue;
    }
    outcome = drop(*segment, why != shortening::on_full_disk, recycled);
    if (outcome.ok()) {
      kept -= is_useless ? 0 : segment->bytes;
      segment = closed_.erase(segment);
    }
  }
  if (closed_.size() == before) {
    return outcome;
  }
  // Before a header changes: a crash must not bring the old name back to a file with another header.
  const int error = disk_.sync_directory(options_.folder);
  if (error == 0) {
    std::move(recycled.begin(), recycled.end(), std::back_inserter(spares_));
  } else {
    outcome.error = outcome.ok() ? error : outcome.error;
  }
  count();
  return outcome;
}

/// Removes a segment, or makes it a spare.
DiskOutcome SegmentStore::drop(const ClosedSegment& segment, bool recycles, std::vector<Spare>& recycled) {
  const std::string path = path_of(segment.number);
  if (!recycles || segment.bytes != options_.segment_bytes ||
      spares_.size() + recycled.size() >= kMostSpares) {
    return {disk_.remove(path)};
  }
  Spare spare;
  spare.path = path_of(std::string{kSparePrefix} + std::to_string(++spare_names_));
  spare.bytes = segment.bytes;
  const int error = disk_.rename(path, spare.path);
  if (error == 0 && disk_.open(spare.path, spare.file) == 0) {
    recycled.push_back(std::move(spare));
  }
  return {error};
}

void SegmentStore::count() noexcept {
  std::uint64_t bytes = file_ ? bytes_ : 0;
  std::uint64_t history = 0;
  for (const ClosedSegment& segment : closed_) {
    bytes += segment.bytes;
    history += is_history(segment) ? segment.bytes : 0;
  }
  for (const Spare& spare : spares_) {
    bytes += spare.bytes;
  }
  total_bytes_.store(bytes, std::memory_order_relaxed);
  history_bytes_.store(history, std::memory_order_relaxed);
  segments_.store(closed_.size() + (file_ ? 1 : 0), std::memory_order_relaxed);
  current_.store(file_ ? number_ : 0, std::memory_order_relaxed);
}

}  // namespace mxkv::server

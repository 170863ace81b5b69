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
  return {make_spare(options_.segment_bytes)};
}

DiskOutcome SegmentStore::truncate(std::uint64_t epoch) {
  DiskOutcome outcome;
  std::vector<Spare> recycled;
  while (!closed_.empty() && closed_.front().last_epoch < epoch && outcome.ok()) {
    const ClosedSegment& oldest = closed_.front();
    const std::string path = path_of(oldest.number);
    Spare spare;
    if (oldest.bytes == options_.segment_bytes && spares_.size() + recycled.size() < kMostSpares) {
      spare.path = path_of(std::string{kSparePrefix} + std::to_string(++spare_names_));
      spare.bytes = oldest.bytes;
      outcome.error = disk_.rename(path, spare.path);
    } else {
      outcome.error = disk_.remove(path);
    }
    if (outcome.ok()) {
      closed_.pop_front();
    }
    if (outcome.ok() && !spare.path.empty() && disk_.open(spare.path, spare.file) == 0) {
      recycled.push_back(std::move(spare));
    }
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

void SegmentStore::count() noexcept {
  std::uint64_t bytes = file_ ? bytes_ : 0;
  for (const ClosedSegment& segment : closed_) {
    bytes += segment.bytes;
  }
  for (const Spare& spare : spares_) {
    bytes += spare.bytes;
  }
  total_bytes_.store(bytes, std::memory_order_relaxed);
  segments_.store(closed_.size() + (file_ ? 1 : 0), std::memory_order_relaxed);
  current_.store(file_ ? number_ : 0, std::memory_order_relaxed);
}

}  // namespace mxkv::server

#include "server/journal/segment_store.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

constexpr std::string_view kSpare = "spare-";

/// All pieces, however many writes that takes.
int write_all(DiskFile& file, std::span<const iovec> pieces, std::uint64_t offset) {
  std::vector<iovec> rest;
  while (!pieces.empty()) {
    const auto [bytes, error] = file.write_at(pieces, offset);
    if (error != 0) {
      return error;
    }
    if (bytes == 0) {
      return EIO;  // neither bytes nor an error: it would go on for ever
    }
    offset += bytes;
    std::size_t skip = bytes;
    std::size_t done = 0;
    while (done < pieces.size() && skip >= pieces[done].iov_len) {
      skip -= pieces[done++].iov_len;
    }
    std::vector<iovec> left(pieces.begin() + static_cast<std::ptrdiff_t>(done), pieces.end());
    if (skip > 0) {
      left.front().iov_base = static_cast<char*>(left.front().iov_base) + skip;
      left.front().iov_len -= skip;
    }
    rest = std::move(left);
    pieces = rest;
  }
  return 0;
}

bool may_end(int error) noexcept {
  return error == ENOSPC || error == EDQUOT;
}

}  // namespace

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

DiskOutcome SegmentStore::clear() {
  std::vector<std::string> names;
  if (const int error = disk_.list(options_.folder, names)) {
    return {error};
  }
  for (const std::string& name : names) {
    if (name.starts_with(kSpare)) {
      if (const int error = disk_.remove(path_of(name))) {
        return {error};
      }
    }
  }
  return {};
}

// As a copy that takes the place of the file: no byte that is on disk is written again, and pages whose flush failed,
// which the system takes for flushed and another flush skips, are other ones now.
DiskOutcome SegmentStore::settle() {
  const UnprovenTail& tail = options_.unproven;
  if (tail.number == 0) {
    return {};
  }
  const std::string path = path_of(tail.number);
  std::unique_ptr<DiskBytes> read;
  if (const int error = disk_.read(path, read)) {
    return {error};
  }
  std::unique_ptr<DiskFile> file;
  const std::string copy = path_of(std::string{kSpare} + "copy");
  int error = disk_.create(copy, file);
  error = error != 0 ? error : file->allocate(read->bytes().size());
  std::string bytes{read->bytes().substr(0, tail.end)};
  const iovec piece{bytes.data(), bytes.size()};
  error = error != 0 ? error : write_all(*file, {&piece, 1}, 0);
  error = error != 0 ? error : file->sync();
  error = error != 0 ? error : disk_.rename(copy, path);
  return {error != 0 ? error : disk_.sync_directory(options_.folder)};
}

DiskOutcome SegmentStore::make_room(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t created_us) {
  if (file_ && bytes <= bytes_ - offset_) {
    return {};
  }
  if (file_) {
    if (const DiskOutcome left = leave(); !left.ok()) {
      return left;
    }
  }
  return begin_next(bytes, epoch, created_us);
}

DiskOutcome SegmentStore::leave() {
  // Whatever the mode: the next segment says that this one is whole.
  if (const DiskOutcome synced = sync(); !synced.ok()) {
    return synced;
  }
  closed_.push_back({number_, last_epoch_, bytes_});
  file_.reset();
  count();
  return {};
}

DiskOutcome SegmentStore::begin_next(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t created_us) {
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
  header.first_epoch = epoch;
  header.created_us = created_us;
  header.chain_before = chain_;
  header.incarnation = options_.incarnation;
  header.after_gap = after_gap_;
  if (const int error = name_spare(header)) {
    if (spares_.front().path == path_of(header.number)) {
      ++options_.next_number;  // a crash may bring that name back
    }
    drop_spare();  // what a failed sync left in it is not known
    count();
    return {error};
  }
  number_ = options_.next_number++;
  file_ = std::move(spares_.front().file);
  bytes_ = spares_.front().bytes;
  spares_.pop_front();
  offset_ = kPageBytes;
  last_epoch_ = epoch - 1;
  seed_ = segment_seed(options_.directory, number_);
  after_gap_ = false;
  unsynced_ = false;
  count();
  return {};
}

int SegmentStore::make_spare(std::uint64_t bytes) {
  Spare spare;
  spare.path = path_of(std::string{kSpare} + std::to_string(++spare_names_));
  spare.bytes = bytes;
  if (const int error = disk_.create(spare.path, spare.file)) {
    return error;
  }
  int error = spare.file->allocate(bytes);
  error = error != 0 ? error : spare.file->sync();
  if (error != 0) {
    spare.file.reset();
    static_cast<void>(disk_.remove(spare.path));  // what stays is removed at the next start
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
    spare.path = path;  // what drop_spare() removes if the name does not get to the disk
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
  unsynced_ = true;
  const int error = write_all(*file_, pieces, offset_);
  return {error, error != 0 && !may_end(error)};
}

void SegmentStore::advance(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t chain) noexcept {
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
      spare.path = path_of(std::string{kSpare} + std::to_string(++spare_names_));
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

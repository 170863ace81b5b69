#include "server/feed/journal_tail.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/journal/group_reader.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
/// Read at once: by a reader that is behind, and by one that follows the writer.
constexpr std::size_t kFarBytes = std::size_t{256} << 10U;
constexpr std::size_t kNearBytes = std::size_t{16} << 10U;
/// A reader is behind that has more epochs before it.
constexpr std::uint64_t kNearEpochs = 8;

}  // namespace

JournalTail::JournalTail(Disk& disk, TailOptions options)
    : disk_(disk), options_(std::move(options)), at_(options_.durable()) {
  MXKV_ASSERT(options_.lineage.tag() != 0, "a process that numbers epochs has a tag");
}

bool JournalTail::read_header(std::uint64_t number, SegmentHeader& header) const {
  std::unique_ptr<DiskReader> file;
  if (disk_.open_reader(options_.folder + "/" + segment_name(number), file) != 0) {
    return false;  // trimmed meanwhile
  }
  std::vector<char> page(kPageBytes);
  const DiskReader::Read read = file->read_at(page, 0);
  if (read.error != 0 || read.bytes != page.size()) {
    return false;
  }
  const auto found = read_segment_header({page.data(), page.size()});
  if (!found || found.value().directory != options_.directory || found.value().number != number) {
    return false;
  }
  header = found.value();
  return true;
}

std::vector<JournalTail::Live> JournalTail::live_segments() const {
  std::vector<std::string> names;
  if (disk_.list(options_.folder, names) != 0) {
    return {};
  }
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const std::uint64_t number = segment_number(name); number != 0) {
      numbers.push_back(number);
    }
  }
  std::ranges::sort(numbers, std::ranges::greater{});
  std::erase_if(headers_, [&](const auto& known) {
    return !std::ranges::binary_search(numbers, known.first, std::ranges::greater{});
  });
  // Groups count below the first epoch of each later segment: those behind it were cut by a start. A segment of an
  // earlier process has none of this process's epochs, also while this process has not begun a segment yet.
  const std::uint64_t own_first = options_.lineage.entries().back().first;
  std::vector<Live> live;
  std::uint64_t limit = kNoLimit;
  for (const std::uint64_t number : numbers) {
    auto known = headers_.find(number);
    if (known == headers_.end()) {
      SegmentHeader header;
      if (!read_header(number, header)) {
        continue;
      }
      known = headers_.emplace(number, header).first;
    }
    Live one{.header = known->second};
    if (one.header.first_epoch >= limit) {
      continue;
    }
    one.limit = one.header.first_epoch < own_first ? std::min(limit, own_first) : limit;
    limit = one.header.first_epoch;
    live.push_back(one);
  }
  std::ranges::reverse(live);
  return live;
}

Position JournalTail::oldest() const {
  std::uint64_t epoch = through();
  const std::vector<Live> live = live_segments();
  for (auto one = live.rbegin(); one != live.rend() && one->header.format >= kFirstWithBatches; ++one) {
    epoch = std::min(epoch, one->header.first_epoch - 1);
    if (one->header.after_gap) {
      break;
    }
  }
  return {.tag = tag(), .epoch = epoch};
}

position_state JournalTail::seek(const Position& position) {
  if (position.tag == tag() && position.epoch == at_ && file_ != nullptr) {
    return position_state::ok;  // a reader that goes on; next() tells if the file was recycled
  }
  const position_state state = options_.lineage.judge(position.tag, position.epoch,
                                                      {.oldest = oldest().epoch, .last = options_.closed()});
  if (state == position_state::ok) {
    leave();
    at_ = position.epoch;
  }
  return state;
}

std::uint64_t JournalTail::seek_end() {
  leave();
  return at_ = through();
}

void JournalTail::leave() {
  if (file_ != nullptr && has_chain_) {
    places_.push_back({.number = number_, .epoch = at_, .offset = offset_, .chain = chain_});
    if (places_.size() > kMostPlaces) {
      places_.pop_front();
    }
  }
  has_chain_ = false;
  file_.reset();
}

ChangeSource::outcome JournalTail::next(ChangeEpoch& to) {
  for (std::uint64_t durable = through(); at_ < durable;) {
    const std::uint64_t epoch = at_ + 1;
    if ((file_ == nullptr || epoch >= limit_) && !open(epoch)) {
      return outcome::old;
    }
    ScannedGroup group;
    if (const char* const wrong = read_group(epoch, group)) {
      if (!open(epoch)) {
        fail(epoch, wrong);
        return outcome::old;
      }
      continue;
    }
    offset_ += group.end - group.begin;
    chain_ = group.chain;
    has_chain_ = true;
    at_ = epoch;
    if (!take(group, to)) {
      return outcome::old;
    }
    if (!to.records.empty()) {
      return outcome::epoch;
    }
  }
  return outcome::none;
}

/// Opens the segment that has this epoch's group, and goes to it. False: no other segment has it, or it does not
/// continue the group before.
bool JournalTail::open(std::uint64_t epoch) {
  const std::vector<Live> live = live_segments();
  const auto behind =
      std::ranges::find_if(live, [epoch](const Live& one) { return one.header.first_epoch > epoch; });
  if (behind == live.begin()) {
    return fail(epoch, "is in no segment any more");
  }
  const Live& found = *std::prev(behind);
  const SegmentHeader& header = found.header;
  if (epoch >= found.limit || (file_ != nullptr && header.number == number_)) {
    return fail(epoch, "is in no segment");
  }
  if (header.format < kFirstWithBatches) {
    return fail(epoch, "is in a segment of a format without batches");
  }
  if (has_chain_ && (header.first_epoch != epoch || header.after_gap || header.chain_before != chain_)) {
    return fail(epoch, "does not continue the epoch before");
  }
  std::unique_ptr<DiskReader> file;
  if (disk_.open_reader(options_.folder + "/" + segment_name(header.number), file) != 0) {
    return fail(epoch, "is in no segment any more");
  }
  file_ = std::move(file);
  number_ = header.number;
  limit_ = found.limit;
  seed_ = segment_seed(options_.directory, number_);
  chain_ = header.chain_before;
  offset_ = kPageBytes;
  buffer_bytes_ = 0;
  std::uint64_t next = header.first_epoch;
  for (const Place& place : places_) {
    if (place.number == number_ && place.epoch < epoch && place.epoch >= next) {
      next = place.epoch + 1;
      offset_ = place.offset;
      chain_ = place.chain;
    }
  }
  return skip_to(next, epoch);
}

/// Walks over the commit blocks of the epochs from `first` on.
bool JournalTail::skip_to(std::uint64_t first, std::uint64_t epoch) {
  for (; first < epoch; ++first) {
    CommitMark mark;
    const char* wrong = read_mark(mark, first);
    if (wrong != nullptr) {
      buffer_bytes_ = 0;
      wrong = read_mark(mark, first);
    }
    if (wrong != nullptr) {
      return fail(epoch, wrong);
    }
    offset_ += mark.group_bytes;
    chain_ = mark.chain;
  }
  return true;
}

const char* JournalTail::read_mark(CommitMark& mark, std::uint64_t epoch) {
  BlockHeader header;
  const std::string_view bytes = window(kPageBytes);
  if (const char* const wrong = read_commit(bytes, 0, seed_, header, mark, offset_)) {
    return wrong;
  }
  if (header.epoch != epoch || mark.group_bytes % kPageBytes != 0 || mark.group_bytes == 0) {
    return "a group is of another epoch, or of no whole pages";
  }
  return nullptr;
}

/// The buffer may hold bytes from before the group was written. So a group that is not whole is read again.
const char* JournalTail::read_group(std::uint64_t epoch, ScannedGroup& group) {
  if (try_group(epoch, group) == nullptr) {
    return nullptr;
  }
  buffer_bytes_ = 0;
  return try_group(epoch, group);
}

const char* JournalTail::try_group(std::uint64_t epoch, ScannedGroup& group) {
  CommitMark mark;
  if (const char* const wrong = read_mark(mark, epoch)) {
    return wrong;
  }
  // The buffer grows only for a length that the file has.
  char last = 0;
  if (mark.group_bytes > buffer_.size() &&
      file_->read_at({&last, 1}, offset_ + mark.group_bytes - 1).bytes != 1) {
    return "a group is longer than its file";
  }
  return scan_group({.bytes = window(mark.group_bytes), .seed = seed_, .base = offset_}, 0, epoch, chain_,
                    group)
      .why;
}

/// The bytes from offset_ on, `bytes` or fewer at the end of the file.
std::string_view JournalTail::window(std::uint64_t bytes) {
  const bool has = offset_ >= buffer_at_ && offset_ + bytes <= buffer_at_ + buffer_bytes_;
  if (!has) {
    const std::size_t ahead = through() - at_ > kNearEpochs ? kFarBytes : kNearBytes;
    const std::size_t wanted = std::max<std::size_t>(bytes, ahead);
    if (buffer_.size() < wanted || buffer_.size() / 4 > std::max(wanted, kFarBytes)) {
      std::vector<char>(wanted).swap(buffer_);  // large groups are rare, and their memory is not kept
    }
    const DiskReader::Read read = file_->read_at(std::span{buffer_}.first(wanted), offset_);
    buffer_at_ = offset_;
    buffer_bytes_ = read.error == 0 ? read.bytes : 0;
  }
  const std::string_view all{buffer_.data(), buffer_bytes_};
  return all.substr(std::min<std::size_t>(offset_ - buffer_at_, all.size()), bytes);
}

bool JournalTail::take(const ScannedGroup& group, ChangeEpoch& to) {
  const std::uint64_t bytes = group.end - group.begin;
  MXKV_ASSERT(offset_ - bytes >= buffer_at_, "a group that was read is in the buffer");
  to.number = group.epoch;
  to.records.clear();
  joined_.clear();
  GroupReader reader({buffer_.data() + (offset_ - bytes - buffer_at_), bytes}, group);
  while (const auto entry = reader.next()) {
    if (const auto* const touch = std::get_if<TouchRecord>(&entry->record);
        touch != nullptr && touch->access != 0) {
      continue;  // a note of reads, which an orderly end makes: no change
    }
    ChangeRecord& change =
        to.records.emplace_back(ChangeRecord{.record = entry->record, .batch = entry->batch});
    if (entry->apart.size() == 1) {
      change.apart = entry->apart.front();
    } else if (!entry->apart.empty()) {
      std::string& whole = joined_.emplace_back();
      for (const std::string_view piece : entry->apart) {
        whole += piece;
      }
      change.apart = whole;
    }
  }
  return reader.wrong() == nullptr || fail(group.epoch, reader.wrong());
}

bool JournalTail::fail(std::uint64_t epoch, std::string_view why) {
  why_ = options_.folder + ": epoch " + std::to_string(epoch) + ": " + std::string{why};
  file_.reset();
  return false;
}

}  // namespace mxkv::server

#include "server/durability/recovery_input.hpp"

#include <algorithm>
#include <cerrno>

#include "runtime/base/assert.hpp"
#include "server/durability/side_by_side.hpp"

namespace mxkv::server {

namespace {
/// Records a key range: few enough that their entries and the items made from them fit the near caches.
constexpr std::uint64_t kRecordsARange = 32768;
}  // namespace

std::string RecoveryInput::open_segments(std::vector<FoundSegment>& found) {
  std::vector<std::string> names;
  if (const int error = disk_.list(kJournalDirectory, names); error != 0 && error != ENOENT) {
    return disk_.text(kJournalDirectory, error);
  }
  for (const std::string& name : names) {
    if (const std::uint64_t number = segment_number(name); number != 0) {
      found.emplace_back(std::string{kJournalDirectory} + "/" + name, number);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [path, number] : found) {
    if (const int error = disk_.read(path, segments_.emplace_back()); error != 0) {
      return disk_.text(path, error);
    }
    bytes_ += segments_.back()->bytes().size();
  }
  return {};
}

std::string RecoveryInput::scan_journal(std::size_t threads, const std::function<void()>& tick) {
  using state = SegmentScan::state;
  std::vector<FoundSegment> found;
  if (std::string wrong = open_segments(found); !wrong.empty()) {
    return wrong;
  }
  // The first segment needed is the last one that begins no later than the checkpoint. Those before it are history: of
  // a good one the header says enough.
  std::size_t first_needed = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    scans_.push_back(
        scan_segment(found[i].first, found[i].second, segments_[i]->bytes(), manifest_.directory, false));
    const bool begins_before =
        scans_[i].header_is == state::good && scans_[i].header.first_epoch <= from_epoch();
    first_needed = begins_before ? i : first_needed;
  }
  Turns turns{found.size()};
  side_by_side(
      std::min(threads, found.size()),
      [&](std::size_t /*thread*/) {
        for (std::size_t i = 0; turns.next(i);) {
          SegmentScan& scan = scans_[i];
          if (i >= first_needed || scan.header_is != state::good) {
            scan = scan_segment(found[i].first, found[i].second, scan.bytes, manifest_.directory);
          }
          bytes_read_.fetch_add(scan.bytes.size(), std::memory_order_relaxed);
        }
      },
      tick);
  return {};
}

std::string RecoveryInput::judge(bool recover_prefix) {
  MXKV_ASSERT(scans_.size() == segments_.size(), "each segment was scanned before the journal is judged");
  JournalExpectations expectations = expectations_of(manifest_);
  expectations.recover_prefix = recover_prefix;
  verdict_ = judge_journal(scans_, expectations);
  return verdict_.damage;
}

std::string RecoveryInput::open_parts() {
  if (!manifest_.checkpoint) {
    return {};
  }
  const CheckpointEntry& entry = *manifest_.checkpoint;
  std::uint64_t items = 0;
  for (std::uint32_t number = 0; number < entry.parts; ++number) {
    auto part = Part::open(disk_, checkpoint_part_path(entry.begun, number), manifest_.directory, entry.begun,
                           number);
    if (!part) {
      return part.error().message;
    }
    bytes_ += part.value().bytes().size();
    items += part.value().footer().items;
    if (!parts_.empty() && !part.value().blocks().empty() && !parts_.back().footer().last.empty() &&
        parts_.back().footer().last >= part.value().footer().first) {
      return part.value().damage(kPageBytes, "its keys are not greater than those of the part before");
    }
    parts_.push_back(std::move(part).value());
  }
  return items == entry.items ? std::string{}
                              : checkpoint_path(entry.begun) + ": has " + std::to_string(items) +
                                    " items, but the manifest says " + std::to_string(entry.items);
}

std::vector<RecoveryInput::Group> RecoveryInput::groups() const {
  std::vector<Group> all;
  for (const JournalVerdict::Part& part : verdict_.parts) {
    const SegmentScan& scan = scans_[part.segment];
    MXKV_ASSERT(part.groups <= scan.groups.size(), "groups that count were scanned");
    for (std::size_t i = 0; i < part.groups; ++i) {
      if (scan.groups[i].epoch >= from_epoch() && scan.groups[i].blocks > 0) {
        all.push_back({&scan, &scan.groups[i]});
      }
    }
  }
  return all;
}

void RecoveryInput::cut_ranges(const std::vector<Group>& groups) {
  std::vector<KeyRanges::Sample> samples;
  for (const Part& part : parts_) {
    for (const PartBlock& block : part.blocks()) {
      samples.emplace_back(block.first_key, block.records);
    }
  }
  for (const Group& group : groups) {
    sample_group(*group.segment, *group.group, samples);
  }
  ranges_ = std::make_unique<KeyRanges>(std::move(samples), kRecordsARange);
}

std::string RecoveryInput::deal_records(std::size_t threads, const std::function<void()>& tick) {
  MXKV_ASSERT(threads > 0 && verdict_.usable(), "records are dealt of a journal that was judged");
  const std::vector<Group> all = groups();
  cut_ranges(all);
  dealers_.assign(threads, RecordDealer{*ranges_});
  Turns turns{all.size()};
  std::atomic<bool> failed{false};  // relaxed: the end of the thread publishes the error
  side_by_side(
      std::min(threads, all.size()),
      [&](std::size_t thread) {
        for (std::size_t i = 0; turns.next(i) && !failed.load(std::memory_order_relaxed);) {
          if (!dealers_[thread].deal(*all[i].segment, *all[i].group)) {
            failed.store(true, std::memory_order_relaxed);
          }
        }
      },
      tick);
  for (const RecordDealer& dealer : dealers_) {
    if (!dealer.error().empty()) {
      return dealer.error();
    }
  }
  return {};
}

}  // namespace mxkv::server

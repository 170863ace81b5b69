#include "server/journal/damage_text.hpp"

#include <algorithm>

#include "server/journal/segment_header.hpp"

namespace mxkv::server {
namespace {

std::string epochs_affected(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t epochs = to - from + 1;
  return epochs == 1 ? "1 epoch that was acknowledged is affected"
                     : std::to_string(epochs) + " epochs that were acknowledged are affected";
}

std::string damaged_place(std::uint64_t byte, std::uint64_t epoch) {
  return " at byte " + std::to_string(byte) + " (epoch " + std::to_string(epoch) + ")";
}

}  // namespace

std::string damaged_text(const SegmentScan& scan, std::uint64_t missing, const LaterEpoch& later) {
  const std::string epoch = "epoch " + std::to_string(later.epoch);
  return scan.path + ": damaged" + damaged_place(scan.bad_at, missing) + ", although " +
         (later.begun_in.empty() ? epoch + " is whole"
                                 : std::string{later.begun_in} + " begins with " + epoch) +
         ". " + epochs_affected(missing, later.durable);
}

std::string missing_text(const SegmentScan& next, std::uint64_t missing) {
  const std::uint64_t first = next.header.first_epoch;
  return next.path + ": begins with epoch " + std::to_string(first) + ", but no file has those from epoch " +
         std::to_string(missing) + " on: one is missing. " + epochs_affected(missing, first - 1);
}

std::string lost_end_text(const JournalEnd& end, std::span<const SegmentScan> scans, std::uint64_t whole) {
  const auto found = std::find_if(scans.begin(), scans.end(),
                                  [&end](const SegmentScan& scan) { return scan.number == end.segment; });
  const std::string begun =
      ", although the journal went on in it behind epoch " + std::to_string(end.epoch) + ". ";
  const std::string lost = whole < end.epoch
                               ? epochs_affected(whole + 1, end.epoch) + ", and all that followed"
                               : "Epochs that were acknowledged since are affected";
  return found == scans.end() ? "journal/" + segment_name(end.segment) + ": is missing" + begun + lost
                              : found->path + ": " + found->complaint + begun + lost;
}

std::string short_end_text(const SegmentScan& scan, std::uint64_t whole, const JournalEnd& end) {
  return scan.path + ": damaged" + damaged_place(scan.end, whole + 1) + ", although epoch " +
         std::to_string(end.epoch) + " was on disk. " + epochs_affected(whole + 1, end.epoch);
}

std::string_view what_to_do(remedy what) noexcept {
  switch (what) {
    case remedy::backup:
      return "; restore a backup";
    case remedy::prefix:
      return "; restore, or start with --recover=prefix to go on without them";
    case remedy::prefix_taken:
      break;
  }
  return "; they are left out, as --recover=prefix says";
}

std::string torn_text(const SegmentScan& scan, std::uint64_t epoch) {
  return scan.path + ": cut" + damaged_place(scan.end, epoch) +
         ", which was being written when it ended: " + scan.why;
}

}  // namespace mxkv::server

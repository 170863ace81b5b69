#include "server/journal/segment_scan.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

class SegmentScanner {
 public:
  SegmentScanner(SegmentScan& scan, const DirectoryId& directory) noexcept
      : scan_(&scan), seed_(segment_seed(directory, scan.number)) {}

  void read_groups() {
    std::uint64_t epoch = scan_->header.first_epoch;
    std::uint64_t chain = scan_->header.chain_before;
    ScannedGroup group;
    const GroupBytes file{scan_->bytes, seed_};
    BlockFault fault = scan_group(file, scan_->end, epoch, chain, group);
    while (fault.why == nullptr) {
      MXKV_ASSERT(group.begin == scan_->end && group.end > group.begin && group.end <= scan_->bytes.size(),
                  "a whole group is within its segment, behind the one before");
      scan_->groups.push_back(group);
      scan_->end = group.end;
      chain = group.chain;
      fault = scan_group(file, scan_->end, ++epoch, chain, group);
    }
    scan_->bad_at = fault.at;
    scan_->why = fault.why;
    scan_->torn = was_begun(epoch);
  }

  /// Looks for commit blocks behind the last whole group. They are at the beginning of pages.
  void look_behind() noexcept {
    BlockHeader header;
    CommitMark mark;
    for (std::uint64_t at = scan_->end; at + kPageBytes <= scan_->bytes.size(); at += kPageBytes) {
      if (read_commit(scan_->bytes, at, seed_, header, mark) == nullptr &&
          (scan_->later_epoch == 0 || mark.durable > scan_->later_durable)) {
        scan_->later_epoch = header.epoch;
        scan_->later_durable = mark.durable;
      }
    }
  }

 private:
  /// Whether the bytes at the end were meant as the group of this epoch, by their first block.
  [[nodiscard]] bool was_begun(std::uint64_t epoch) const noexcept {
    BlockView block;
    return look_at_block(scan_->bytes, scan_->end, block) == nullptr && block.header.epoch == epoch &&
           block.header.offset == scan_->end && block.header.kind == block_kind::commit;
  }

  SegmentScan* scan_;
  std::uint64_t seed_;
};

void read_header(SegmentScan& scan, const DirectoryId& directory) {
  using state = SegmentScan::state;
  auto header = read_segment_header(scan.bytes);
  if (!header) {
    scan.complaint = header.error().message;
    scan.header_is = is_newer_segment(scan.bytes) ? state::newer : state::no_header;
    return;
  }
  scan.header = header.value();
  if (scan.header.directory != directory) {
    scan.complaint = "it belongs to another directory than this one";
    scan.header_is = state::foreign;
  } else if (scan.header.number != scan.number) {
    scan.complaint = "its header says that its name is " + segment_name(scan.header.number);
    scan.header_is = state::misnamed;
  } else {
    scan.header_is = state::good;
  }
}

}  // namespace

SegmentScan scan_segment(std::string path, std::uint64_t number, std::string_view bytes,
                         const DirectoryId& directory, bool with_groups) {
  SegmentScan scan;
  scan.path = std::move(path);
  scan.number = number;
  scan.bytes = bytes;
  read_header(scan, directory);
  if (!with_groups) {
    return scan;
  }
  SegmentScanner scanner(scan, directory);
  if (scan.header_is == SegmentScan::state::good) {
    scanner.read_groups();
  }
  scanner.look_behind();
  return scan;
}

}  // namespace mxkv::server

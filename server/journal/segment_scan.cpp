#include "server/journal/segment_scan.hpp"

#include <utility>

#include "runtime/base/assert.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

/// An error in a block, and the block's place.
struct BlockFault {
  std::uint64_t at;
  const char* why;
};
constexpr BlockFault kNoFault{0, nullptr};

class SegmentScanner {
 public:
  SegmentScanner(SegmentScan& scan, const DirectoryId& directory) noexcept
      : scan_(&scan), seed_(segment_seed(directory, scan.number)) {}

  void read_groups() {
    std::uint64_t epoch = scan_->header.first_epoch;
    std::uint64_t chain = scan_->header.chain_before;
    ScannedGroup group;
    BlockFault fault = read_group(scan_->end, epoch, chain, group);
    while (fault.why == nullptr) {
      MXKV_ASSERT(group.begin == scan_->end && group.end > group.begin && group.end <= scan_->bytes.size(),
                  "a whole group is within its segment, behind the one before");
      scan_->groups.push_back(group);
      scan_->end = group.end;
      chain = group.chain;
      fault = read_group(scan_->end, ++epoch, chain, group);
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
  BlockFault read_group(std::uint64_t begin, std::uint64_t epoch, std::uint64_t chain,
                        ScannedGroup& group) const {
    BlockHeader header;
    CommitMark mark;
    if (const char* const wrong = read_commit(scan_->bytes, begin, seed_, header, mark)) {
      return {begin, wrong};
    }
    if (header.epoch != epoch) {
      return {begin, "a group is of another epoch"};
    }
    if (mark.durable >= epoch) {
      return {begin, "a group was on disk before it was written"};
    }
    if (mark.group_bytes > scan_->bytes.size() - begin || mark.group_bytes % kPageBytes != 0) {
      return {begin, "a group is longer than it can be"};
    }
    chain = begin_group_chain(chain, epoch);
    std::uint64_t end = begin + kCommitBlockBytes;
    const BlockFault fault = read_blocks(mark, epoch, begin + mark.group_bytes, end, chain);
    if (fault.why != nullptr) {
      return fault;
    }
    if (round_up_to_page(end) != begin + mark.group_bytes) {
      return {begin, "a group is not as long as it says"};
    }
    if (chain != mark.chain) {
      return {begin, "a group does not continue the one before"};
    }
    group = {begin,       begin + mark.group_bytes, epoch, mark.durable, mark.ceiling, mark.unix_us, chain,
             mark.blocks, mark.wall_ahead_s};
    return kNoFault;
  }

  /// Reads the blocks behind a commit block; moves `at` to their end.
  BlockFault read_blocks(const CommitMark& mark, std::uint64_t epoch, std::uint64_t limit, std::uint64_t& at,
                         std::uint64_t& chain) const {
    const std::string_view group = scan_->bytes.substr(0, limit);
    BlockView block;
    for (std::uint32_t index = 1; index <= mark.blocks; ++index) {
      if (const char* const wrong = read_block(group, at, seed_, block)) {
        return {at, wrong};
      }
      const bool of_group =
          block.header.kind == block_kind::records || block.header.kind == block_kind::value;
      if (block.header.epoch != epoch || block.header.index != index || !of_group) {
        return {at, "a block does not belong to its group"};
      }
      chain = chain_on(chain, block.header.hash);
      at += block.header.bytes();
    }
    return kNoFault;
  }

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
                         const DirectoryId& directory) {
  SegmentScan scan;
  scan.path = std::move(path);
  scan.number = number;
  scan.bytes = bytes;
  read_header(scan, directory);
  SegmentScanner scanner(scan, directory);
  if (scan.header_is == SegmentScan::state::good) {
    scanner.read_groups();
  }
  scanner.look_behind();
  return scan;
}

}  // namespace mxkv::server

#include "server/journal/group_scan.hpp"

#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

/// Reads the blocks behind a commit block; moves `at` to their end.
BlockFault scan_blocks(const GroupBytes& from, const CommitMark& mark, std::uint64_t epoch,
                       std::uint64_t limit, std::uint64_t& at, std::uint64_t& chain) noexcept {
  const std::string_view group = from.bytes.substr(0, limit);
  BlockView block;
  for (std::uint32_t index = 1; index <= mark.blocks; ++index) {
    if (const char* const wrong = read_block(group, at, from.seed, block, from.base)) {
      return {at, wrong};
    }
    const bool of_group = block.header.kind == block_kind::records || block.header.kind == block_kind::value;
    if (block.header.epoch != epoch || block.header.index != index || !of_group) {
      return {at, "a block does not belong to its group"};
    }
    chain = chain_on(chain, block.header.hash);
    at += block.header.bytes();
  }
  return {};
}

}  // namespace

BlockFault scan_group(const GroupBytes& from, std::uint64_t begin, std::uint64_t epoch, std::uint64_t chain,
                      ScannedGroup& group) noexcept {
  BlockHeader header;
  CommitMark mark;
  if (const char* const wrong = read_commit(from.bytes, begin, from.seed, header, mark, from.base)) {
    return {begin, wrong};
  }
  if (header.epoch != epoch) {
    return {begin, "a group is of another epoch"};
  }
  if (mark.durable >= epoch) {
    return {begin, "a group was on disk before it was written"};
  }
  if (mark.group_bytes > from.bytes.size() - begin || mark.group_bytes % kPageBytes != 0) {
    return {begin, "a group is longer than it can be"};
  }
  chain = begin_group_chain(chain, epoch);
  std::uint64_t end = begin + kCommitBlockBytes;
  const BlockFault fault = scan_blocks(from, mark, epoch, begin + mark.group_bytes, end, chain);
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
  return {};
}

}  // namespace mxkv::server

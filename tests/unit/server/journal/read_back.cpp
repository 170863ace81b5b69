#include "tests/unit/server/journal/read_back.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "server/commit/record_reader.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server::test {
namespace {

void read_records(const BlockView& block, ReadGroup& group) {
  RecordReader records{block.payload};
  while (const std::optional<Record> record = records.next()) {
    if (const auto* const put = std::get_if<PutRecord>(&*record)) {
      group.puts.push_back({std::string{put->key}, std::string{put->value}, put->order, block.header.worker});
    }
  }
  EXPECT_EQ(records.wrong(), nullptr);
}

/// False: there is no whole group.
bool read_group(std::string_view file, std::uint64_t offset, std::uint64_t seed, ReadSegment& segment) {
  BlockHeader header;
  ReadGroup group;
  if (read_commit(file, offset, seed, header, group.commit) != nullptr) {
    return false;
  }
  group.segment = segment.header.number;
  group.epoch = header.epoch;
  std::uint64_t chain = begin_group_chain(segment.last_chain, header.epoch);
  std::uint64_t at = offset + kCommitBlockBytes;
  for (std::uint32_t i = 0; i < group.commit.blocks; ++i) {
    BlockView block;
    if (read_block(file, at, seed, block) != nullptr) {
      return false;
    }
    EXPECT_EQ(block.header.epoch, group.epoch);
    EXPECT_EQ(block.header.index, i + 1);
    if (block.header.kind == block_kind::value) {
      group.puts.back().value += block.payload;
    } else {
      read_records(block, group);
    }
    chain = chain_on(chain, block.header.hash);
    at += block.header.bytes();
  }
  EXPECT_EQ(group.commit.chain, chain);
  EXPECT_EQ(offset + group.commit.group_bytes, round_up_to_page(at));
  segment.last_chain = chain;
  segment.groups.push_back(std::move(group));
  return true;
}

}  // namespace

std::vector<std::string> ReadGroup::keys() const {
  std::vector<std::string> keys;
  for (const ReadPut& put : puts) {
    keys.push_back(put.key);
  }
  return keys;
}

std::vector<ReadSegment> read_segments(Disk& disk, const std::string& folder) {
  std::vector<std::string> names;
  EXPECT_EQ(disk.list(folder, names), 0);
  std::vector<ReadSegment> segments;
  for (const std::string& name : names) {
    if (segment_number(name) == 0) {
      continue;
    }
    std::unique_ptr<DiskBytes> read;
    EXPECT_EQ(disk.read(folder + "/" + name, read), 0);
    const std::string_view file = read->bytes();
    auto header = read_segment_header(file);
    EXPECT_TRUE(header.ok()) << name;
    if (!header.ok()) {
      continue;
    }
    ReadSegment segment;
    segment.header = header.value();
    EXPECT_EQ(segment.header.number, segment_number(name));
    segment.bytes = file.size();
    segment.last_chain = segment.header.chain_before;
    const std::uint64_t seed = segment_seed(segment.header.directory, segment.header.number);
    std::uint64_t at = kPageBytes;
    while (read_group(file, at, seed, segment)) {
      at += segment.groups.back().commit.group_bytes;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

std::vector<ReadGroup> read_groups(Disk& disk, const std::string& folder) {
  std::vector<ReadGroup> groups;
  std::uint64_t chain = 0;
  for (ReadSegment& segment : read_segments(disk, folder)) {
    // In a segment whose last write failed, groups may stand that do not count.
    while (segment.header.after_gap && !groups.empty() && groups.back().epoch >= segment.header.first_epoch) {
      groups.pop_back();
    }
    if (!segment.header.after_gap && segment.header.number > 1 && !groups.empty()) {
      EXPECT_EQ(segment.header.chain_before, chain) << "segment " << segment.header.number;
      EXPECT_EQ(segment.header.first_epoch, groups.back().epoch + 1);
    }
    for (ReadGroup& group : segment.groups) {
      if (!groups.empty() && !segment.header.after_gap) {
        EXPECT_EQ(group.epoch, groups.back().epoch + 1);
      }
      groups.push_back(std::move(group));
    }
    chain = segment.last_chain;
  }
  return groups;
}

}  // namespace mxkv::server::test

// One segment: whole groups are found in order, as is their end, and the bytes behind it.
#include "server/journal/segment_scan.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

using ::testing::HasSubstr;

SegmentScan scan(const std::string& bytes, std::uint64_t number = 7) {
  return scan_segment("journal/x", number, bytes, test_directory());
}

/// Epochs 10 to 13, of which one is empty and one has two blocks and a value apart.
SegmentBuilder four_groups() {
  SegmentBuilder builder(header_of(7, 10));
  builder.add({{{PutRecord{.order = 1, .key = "a", .value = "1"}}}}, 9);
  builder.add({}, 9);
  builder.add(
      {{{GoneRecord{2, "b"}}}, {{PutRecord{.order = 3, .key = "c", .apart_bytes = 9}}, {"12345", "6789"}}},
      10);
  builder.add({{{FlushRecord{4}}}}, 12);
  return builder;
}

TEST(SegmentScan, FindsAllGroupsAndWhereTheyEnd) {
  const SegmentBuilder builder = four_groups();
  const SegmentScan found = scan(builder.bytes());
  EXPECT_EQ(found.header_is, SegmentScan::state::good);
  ASSERT_EQ(found.groups.size(), 4U);
  std::uint64_t end = kPageBytes;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.groups[i].epoch, 10 + i);
    EXPECT_EQ(found.groups[i].begin, end);
    EXPECT_EQ(found.groups[i].ceiling, 1000 * (10 + i));
    EXPECT_EQ(found.groups[i].unix_us, 10'000 * (10 + i));
    end = found.groups[i].end;
  }
  EXPECT_EQ(end, builder.bytes().size());
  EXPECT_EQ(found.end, end);
  EXPECT_EQ(found.groups.back().chain, builder.chain());
  EXPECT_EQ(found.groups[3].durable, 12U);
  EXPECT_FALSE(found.torn);
  EXPECT_EQ(found.later_epoch, 0U);
}

TEST(SegmentScan, TakesZerosBehindTheLastGroupForRoom) {
  const SegmentScan found = scan(four_groups().bytes() + std::string(100'000, '\0'));
  EXPECT_EQ(found.groups.size(), 4U);
  EXPECT_FALSE(found.torn);
  EXPECT_EQ(found.later_epoch, 0U);
  EXPECT_STREQ(found.why, "no block begins there");
}

TEST(SegmentScan, OldContentsOfARecycledFileNeverCount) {
  SegmentBuilder old(header_of(3, 1));
  for (int i = 0; i < 20; ++i) {
    old.add({{{FlushRecord{static_cast<std::uint64_t>(i)}}}}, old.next_epoch() - 1);
  }
  SegmentBuilder builder(header_of(7, 10));
  builder.add({{{FlushRecord{4}}}}, 9);
  std::string bytes = old.bytes();
  bytes.replace(0, builder.bytes().size(), builder.bytes());
  const SegmentScan found = scan(bytes);
  EXPECT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.later_epoch, 0U);
  EXPECT_FALSE(found.torn);
}

TEST(SegmentScan, NamesTheFaultAndTheCommitBlocksBehindIt) {
  SegmentBuilder builder = four_groups();
  const std::vector<ScannedGroup> groups = scan(builder.bytes()).groups;
  const std::uint64_t second_block = groups[2].begin + kCommitBlockBytes + kBlockHeaderBytes + 13;
  builder.bytes()[second_block + kBlockHeaderBytes] ^= 1;
  const SegmentScan found = scan(builder.bytes());
  EXPECT_EQ(found.groups.size(), 2U);
  EXPECT_EQ(found.end, groups[2].begin);
  EXPECT_EQ(found.bad_at, second_block);
  EXPECT_STREQ(found.why, "a block does not match its hash");
  EXPECT_TRUE(found.torn);
  EXPECT_EQ(found.later_epoch, 13U);
  EXPECT_EQ(found.later_durable, 12U);
}

TEST(SegmentScan, AGroupThatWasReplacedByAnotherIsNoGroupOfTheChain) {
  SegmentBuilder builder = four_groups();
  SegmentBuilder other(header_of(7, 10));
  other.add({{{PutRecord{.order = 1, .key = "a", .value = "2"}}}}, 9);
  builder.bytes().replace(kPageBytes, kPageBytes, other.bytes(), kPageBytes, kPageBytes);
  const SegmentScan found = scan(builder.bytes());
  EXPECT_EQ(found.groups.size(), 1U);
  EXPECT_STREQ(found.why, "a group does not continue the one before");
}

TEST(SegmentScan, TellsHeadersThatAreNone) {
  using state = SegmentScan::state;
  const std::string bytes = four_groups().bytes();
  EXPECT_EQ(scan("").header_is, state::no_header);
  EXPECT_EQ(scan(std::string(100'000, '\0')).header_is, state::no_header);
  const SegmentScan misnamed = scan(bytes, 8);
  EXPECT_EQ(misnamed.header_is, state::misnamed);
  EXPECT_THAT(misnamed.complaint, HasSubstr("0000000000000007.mxj"));
  EXPECT_TRUE(misnamed.groups.empty());
  EXPECT_EQ(scan_segment("journal/x", 7, bytes, {}).header_is, state::foreign);
  std::string newer = bytes;
  store_number(newer.data() + 10, std::uint16_t{3});
  seal_page(newer.data());
  EXPECT_EQ(scan(newer).header_is, state::newer);
}

TEST(SegmentScan, FindsCommitBlocksOfASegmentWhoseHeaderIsGone) {
  std::string bytes = four_groups().bytes();
  bytes[20] ^= 1;
  const SegmentScan found = scan(bytes);
  EXPECT_EQ(found.header_is, SegmentScan::state::no_header);
  EXPECT_EQ(found.later_epoch, 13U);
  EXPECT_EQ(found.later_durable, 12U);
}

}  // namespace
}  // namespace mxkv::server::test

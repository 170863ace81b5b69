// The records of a group come in order, values apart in their pieces; records that no writer makes are
// refused.
#include "server/journal/group_reader.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string complaint_of(const std::vector<BuiltBlock>& blocks) {
  SegmentBuilder builder(header_of(1, 1));
  builder.add(blocks, 0);
  const SegmentScan scan = scan_segment("x", 1, builder.bytes(), test_directory());
  EXPECT_EQ(scan.groups.size(), 1U);
  GroupReader reader(builder.bytes(), scan.groups.at(0));
  while (reader.next()) {
  }
  EXPECT_GE(reader.position(), reader.wrong() == nullptr ? 0 : kPageBytes + kCommitBlockBytes);
  EXPECT_FALSE(reader.next());
  return reader.wrong() == nullptr ? "" : reader.wrong();
}

TEST(GroupReader, ReadsRecordsOfAllBlocksWithValuesApart) {
  SegmentBuilder builder(header_of(1, 1));
  builder.add({}, 0);
  builder.add({{{GoneRecord{1, "a"}, PutRecord{.order = 2, .key = "b", .apart_bytes = 5}}, {"12", "345"}},
               {{}},
               {{PutRecord{.order = 3, .key = "c", .value = "v"}}}},
              0);
  const SegmentScan scan = scan_segment("x", 1, builder.bytes(), test_directory());
  ASSERT_EQ(scan.groups.size(), 2U);
  EXPECT_FALSE(GroupReader(builder.bytes(), scan.groups[0]).next()) << "an empty group has no records";
  GroupReader reader(builder.bytes(), scan.groups[1]);
  auto entry = reader.next();
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->record, Record{(GoneRecord{1, "a"})});
  EXPECT_THAT(entry->apart, IsEmpty());
  entry = reader.next();
  ASSERT_TRUE(entry);
  EXPECT_EQ(std::get<PutRecord>(entry->record).key, "b");
  EXPECT_THAT(entry->apart, ElementsAre("12", "345"));
  entry = reader.next();
  ASSERT_TRUE(entry);
  EXPECT_EQ(std::get<PutRecord>(entry->record).value, "v");
  EXPECT_THAT(entry->apart, IsEmpty());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.wrong(), nullptr);
}

TEST(GroupReader, RefusesGroupsThatNoWriterMakes) {
  const PutRecord apart{.order = 2, .key = "b", .apart_bytes = 5};
  EXPECT_EQ(complaint_of({{{apart}, {"12345"}}}), "");
  EXPECT_EQ(complaint_of({{{apart}, {"1234"}}}), "a value apart is not as long as its record says");
  EXPECT_EQ(complaint_of({{{apart}, {"123", "456"}}}), "a value apart is not as long as its record says");
  EXPECT_EQ(complaint_of({{{apart}, {"12345", "6"}}}), "a value belongs to no record");
  EXPECT_EQ(complaint_of({{{apart}}, {{FlushRecord{3}}}}), "a value apart is not as long as its record says");
  EXPECT_EQ(complaint_of({{{apart, FlushRecord{3}}, {"12345"}}}),
            "a record whose value is apart is not the last of its block");
  EXPECT_EQ(complaint_of({{{FlushRecord{3}}, {"12345"}}}), "a value belongs to no record");
}

}  // namespace
}  // namespace mxkv::server::test

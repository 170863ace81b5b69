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

/// The group with these payloads, each record with its batch: "2/1 3/0 wrong".
std::string batches_in(const std::vector<SegmentBuilder::Payload>& payloads) {
  SegmentBuilder builder(header_of(1, 1));
  builder.add_payloads(payloads);
  const SegmentScan scan = scan_segment("x", 1, builder.bytes(), test_directory());
  GroupReader reader(builder.bytes(), scan.groups.at(0));
  std::string seen;
  while (const auto entry = reader.next()) {
    const std::uint64_t order = std::visit([](const auto& record) { return record.order; }, entry->record);
    seen += std::to_string(order) + "/" + std::to_string(entry->batch) + " ";
  }
  return seen + (reader.wrong() == nullptr ? std::to_string(reader.batches()) + " batches" : reader.wrong());
}

TEST(GroupReader, ABatchMayGoOnInLaterBlocksOfItsWorker) {
  const std::string first =
      payload_of({FlushRecord{1}}) + mark_text(batch_mark::begin) + payload_of({FlushRecord{2}});
  const std::string second = payload_of({PutRecord{.order = 3, .key = "k", .apart_bytes = 5}});
  const std::string third = mark_text(batch_mark::end);
  const std::string other = batch_of({FlushRecord{4}});
  const auto records = block_kind::records;
  EXPECT_EQ(batches_in({{records, first, 2, 1},
                        {records, second, 1, 1},
                        {block_kind::value, "value", 0, 1},
                        {records, third, 0, 1},
                        {records, other, 1, 2}}),
            "1/0 2/1 3/1 4/2 2 batches");
  EXPECT_EQ(batches_in({{records, first, 2, 1}, {records, other, 1, 2}}), "1/0 2/1 a batch does not end");
  EXPECT_EQ(batches_in({{records, first, 2, 1}}), "1/0 2/1 a batch does not end");
  EXPECT_EQ(batches_in({{records, third, 0, 1}}), "a batch ends that did not begin");
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

// Files of each format, as they were first written: this code writes them byte for byte, and reads them.
//
// They are in tests/data/journal_format_1 and journal_format_2, and stay there for as long as the format is read.
// part-1.mxc is older than the rest: its record has an access code without reads, and is only read. A format that
// differs gets a number and files of its own; MXKV_WRITE_GOLDEN=1 in the environment writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "server/journal/checkpoint_header.hpp"
#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

const std::filesystem::path kFolder = MXKV_GOLDEN;

std::vector<Record> one_of_each() {
  return {PutRecord{.order = 1'763'000'000'000'001, .key = "key", .value = "value"},
          PutRecord{.order = 1'763'000'000'000'002,
                    .key = "all",
                    .value = "fields",
                    .cas = 77,
                    .flags = 0x12345678,
                    .expiry = 1'900'000'000,
                    .marks = 7,
                    .has_cas = true},
          PutRecord{.order = 1'763'000'000'000'003, .key = "empty", .value = ""},
          GoneRecord{1'763'000'000'000'004, "gone", gone_reason::deleted},
          GoneRecord{1'763'000'000'000'005, "evicted", gone_reason::evicted},
          TouchRecord{1'763'000'000'000'006, "touched", 1'900'000'001},
          RangeGoneRecord{1'763'000'000'000'007, {.from = "a", .to = "b", .to_is_open = true}, 12},
          RangeTouchRecord{1'763'000'000'000'008,
                           {.from = "a", .from_is_open = true, .has_no_end = true},
                           13,
                           1'763'000'000'000'000,
                           1'900'000'002},
          FlushRecord{1'763'000'000'000'009},
          FlushAtRecord{1'763'000'000'000'010, 1'763'000'100'000'000, 1'763'000'000'000'000}};
}

SegmentHeader golden_header(std::uint64_t number, std::uint64_t first_epoch, std::uint64_t chain_before) {
  SegmentHeader header = header_of(number, first_epoch, chain_before);
  header.created_us = 1'763'000'000'000'000;
  header.incarnation = 2;
  header.format = 1;
  return header;
}

/// A segment of format 2 has batches.
std::string golden_batches() {
  SegmentHeader header = golden_header(0x13, 6, 0);
  header.format = 2;
  SegmentBuilder segment(header);
  const std::string payload =
      payload_of({FlushRecord{20}}) +
      batch_of({GoneRecord{21, "a"}, PutRecord{.order = 21, .key = "b", .value = "v"}});
  segment.add_payloads({{block_kind::records, payload, 3}}, 5);
  return segment.bytes();
}

std::string golden_part() {
  CheckpointHeader header;
  header.directory = test_directory();
  header.begun = 4;
  header.created_us = 1'763'000'000'000'000;
  header.part = 1;
  header.parts = 2;
  header.from = "k";
  header.has_no_end = true;
  std::string bytes(kPageBytes, '\0');
  write_checkpoint_header(bytes.data(), header);
  const std::uint64_t seed = checkpoint_seed(header.directory, header.begun, header.part);
  const auto add = [&](const std::string& payload, block_kind kind, std::uint32_t records,
                       std::uint32_t index) {
    BlockHeader block{
        .epoch = header.begun, .offset = bytes.size(), .records = records, .index = index, .kind = kind};
    char sealed[kBlockHeaderBytes];
    seal_block(sealed, block, payload, seed);
    bytes.append(sealed, sizeof sealed).append(payload);
    return block.hash;
  };
  const std::uint64_t hash =
      add(payload_of({PutRecord{.order = 5, .key = "key", .value = "value", .access = 1234}}),
          block_kind::records, 1, 0);
  const CheckpointFooter footer{.items = 1,
                                .bytes = bytes.size(),
                                .chain = chain_on(begin_group_chain(0, 4), hash),
                                .blocks = 1,
                                .first = "key",
                                .last = "key"};
  add(footer_payload(footer), block_kind::footer, 0, 1);
  return bytes;
}

std::map<std::string, std::string> golden_files() {
  SegmentBuilder first(golden_header(0x11, 3, 0));
  first.add({{one_of_each()}}, 2);
  first.add({}, 3);
  SegmentBuilder second(golden_header(0x12, 5, first.chain()));
  second.add({{{PutRecord{.order = 11, .key = "large", .apart_bytes = 12, .flags = 1}}, {"twelve", " bytes"}},
              {{GoneRecord{12, "gone"}}}},
             3);
  return {{"../journal_format_2/0000000000000013.mxj", golden_batches()},
          {"0000000000000011.mxj", first.bytes()},
          {"0000000000000012.mxj", second.bytes()},
          {"part-2.mxc", golden_part()}};
}

std::string read_file(const std::string& name) {
  std::ifstream file(kFolder / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(GoldenFiles, AreWrittenByteForByte) {
  for (const auto& [name, bytes] : golden_files()) {
    if (std::getenv("MXKV_WRITE_GOLDEN") != nullptr) {
      std::ofstream(kFolder / name, std::ios::binary) << bytes;
    }
    EXPECT_TRUE(read_file(name) == bytes) << name << " differs: is the format another one now?";
  }
}

TEST(GoldenFiles, AreReadAsTheirContents) {
  const std::vector<SegmentFile> files{{0x11, read_file("0000000000000011.mxj")},
                                       {0x12, read_file("0000000000000012.mxj")}};
  const std::vector<SegmentScan> scans = scan_all(files);
  const JournalVerdict verdict = judge_journal(scans, {.from_epoch = 3});
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.last_epoch, 5U);
  EXPECT_EQ(scans[0].header.format, 1U);
  GroupReader reader(scans[0].bytes, scans[0].groups.at(0));
  for (const Record& record : one_of_each()) {
    const auto entry = reader.next();
    ASSERT_TRUE(entry) << reader.wrong();
    EXPECT_EQ(entry->record, record);
  }
  EXPECT_FALSE(reader.next());
  const std::string large = shown_group(scans[1].bytes, scans[1].groups.at(0));
  EXPECT_NE(large.find("|twelve| bytes]"), std::string::npos) << large;
}

TEST(GoldenFiles, OfFormat2HaveBatches) {
  const std::string bytes = read_file("../journal_format_2/0000000000000013.mxj");
  const SegmentScan scan = scan_segment("x", 0x13, bytes, test_directory());
  EXPECT_EQ(scan.header.format, 2U);
  GroupReader reader(bytes, scan.groups.at(0));
  EXPECT_EQ(reader.next()->batch, 0U);
  EXPECT_EQ(reader.next()->batch, 1U);
  EXPECT_EQ(reader.next()->batch, 1U);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.wrong(), nullptr);
}

class GoldenPart : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenPart, IsReadAsItsContents) {
  const std::string bytes = read_file(GetParam());
  const auto header = read_checkpoint_header(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header.value().begun, 4U);
  EXPECT_EQ(header.value().from, "k");
  const std::uint64_t seed = checkpoint_seed(header.value().directory, 4, 1);
  const bool is_older = bytes[kPageBytes + kBlockHeaderBytes + 1] == 0;
  const std::uint32_t code = is_older ? access_code::of_older(1234) : 1234;
  const auto access = static_cast<std::uint16_t>(code);
  EXPECT_EQ(access_code::reads(code), is_older ? 1U : 2U);
  BlockView block;
  ASSERT_STREQ(read_block(bytes, kPageBytes, seed, block), nullptr);
  EXPECT_EQ(RecordReader(block.payload).next(),
            Record{(PutRecord{.order = 5, .key = "key", .value = "value", .access = access})});
  const std::uint64_t behind = kPageBytes + block.header.bytes();
  ASSERT_STREQ(read_block(bytes, behind, seed, block), nullptr);
  CheckpointFooter footer;
  EXPECT_STREQ(read_footer(block.payload, footer), nullptr);
  EXPECT_EQ(footer.bytes, behind);
  EXPECT_EQ(footer.last, "key");
}

INSTANTIATE_TEST_SUITE_P(OfEachVersion, GoldenPart, ::testing::Values("part-1.mxc", "part-2.mxc"),
                         [](const auto& part) { return part.index == 0 ? "WithoutReads" : "WithReads"; });

}  // namespace
}  // namespace mxkv::server::test

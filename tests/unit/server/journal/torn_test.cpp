// A journal cut at any byte: whole groups from its beginning are read, and never anything else.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kNumber = 9;

/// About 64 KiB: small groups, empty ones, large ones, values apart. Each group says that the one before is
/// on disk.
std::string journal_of_64_kib(std::uint64_t number, char filler) {
  SegmentBuilder builder(header_of(number, 1));
  for (std::uint64_t epoch = 1; builder.bytes().size() < 60'000; ++epoch) {
    const std::string value(epoch * 531 % 7000, filler);
    const std::string large(9000, filler);
    BuiltBlock block{{PutRecord{.order = epoch, .key = "key", .value = value}, GoneRecord{epoch, "gone"}}};
    if (epoch % 4 == 0) {
      block.records.emplace_back(PutRecord{.order = epoch, .key = "large", .apart_bytes = large.size()});
      block.apart = {large};
    }
    const bool empty = epoch % 5 == 0;
    builder.add(empty ? std::vector<BuiltBlock>{} : std::vector<BuiltBlock>{block, {{FlushRecord{epoch}}}},
                epoch - 1);
  }
  return builder.bytes();
}

class TornTest : public ::testing::Test {
 protected:
  /// Reads `bytes`, of which only the first `cut` are unchanged.
  void expect_prefix(std::string_view bytes, std::uint64_t cut) {
    const std::vector<SegmentScan> scans{scan_segment("j", kNumber, bytes, test_directory())};
    const JournalVerdict verdict = judge_journal(scans, {.first_segment = kNumber});
    std::size_t whole = 0;
    while (whole < groups.size() && groups[whole].end <= cut) {
      ++whole;
    }
    ASSERT_EQ(verdict.damage, "") << cut;
    const std::size_t read = verdict.parts.empty() ? 0 : verdict.parts[0].groups;
    ASSERT_GE(read, cut < kPageBytes ? 0 : whole) << cut;
    ASSERT_EQ(verdict.last_epoch, read) << cut;
    for (std::size_t i = 0; i < read; ++i) {
      const ScannedGroup& group = scans[0].groups[i];
      ASSERT_EQ(group.begin, groups[i].begin);
      ASSERT_EQ(group.end, groups[i].end);
    }
    // A group that is cut only in its padding is whole; each byte that is not padding is compared.
    if (read > whole) {
      ASSERT_EQ(read, whole + 1) << cut;
      ASSERT_EQ(shown_group(bytes, scans[0].groups[whole]), shown_group(journal, groups[whole])) << cut;
    }
  }

  const std::string journal = journal_of_64_kib(kNumber, 'v');
  const std::vector<ScannedGroup> groups = scan_segment("j", kNumber, journal, test_directory()).groups;
};

TEST_F(TornTest, AFileThatEndsAtAnyByteHasThePrefix) {
  ASSERT_GE(groups.size(), 8U);
  for (std::uint64_t cut = 0; cut <= journal.size(); ++cut) {
    expect_prefix(std::string_view{journal}.substr(0, cut), cut);
  }
}

TEST_F(TornTest, ZerosFromAnyByteOnLeaveThePrefix) {
  std::string bytes = journal;
  for (std::uint64_t cut = journal.size(); cut-- > 0;) {
    bytes[cut] = '\0';
    expect_prefix(bytes, cut);
  }
}

TEST_F(TornTest, OldBytesFromAnyByteOnLeaveThePrefix) {
  const std::string before = journal_of_64_kib(1, 'o');
  std::string bytes = journal;
  for (std::uint64_t cut = journal.size(); cut-- > 0;) {
    bytes[cut] = cut < before.size() ? before[cut] : 'x';
    expect_prefix(bytes, cut);
  }
}

}  // namespace
}  // namespace mxkv::server::test

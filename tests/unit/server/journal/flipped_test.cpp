// A journal with any bit flipped: the same data, all but the tail, or a refusal that names the place. Never
// other data, and never less than the groups that a later commit block proves to have been on disk.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sanitized.hpp"
#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

/// Two segments, of 16 KiB together with their headers; each group but the last two is known to be on disk.
std::vector<SegmentFile> two_segments() {
  SegmentBuilder first(header_of(1, 1));
  const std::string value(700, 'v');
  first.add({{{PutRecord{.order = 1, .key = "a", .value = value, .flags = 1}}}}, 0);
  first.add({{{GoneRecord{2, "b"}, TouchRecord{3, "a", 9}}}}, 1);
  SegmentBuilder second(header_of(2, 3, first.chain()));
  second.add({{{PutRecord{.order = 4, .key = "c", .apart_bytes = 600}}, {value.substr(100)}}}, 2);
  second.add({}, 3);
  second.add({{{FlushRecord{5}}}}, 3);
  return {{1, first.bytes()}, {2, second.bytes()}};
}

class FlippedTest : public ::testing::Test {
 protected:
  FlippedTest() {
    for (const SegmentScan& scan : scan_all(files)) {
      for (const ScannedGroup& group : scan.groups) {
        shown.push_back(shown_group(scan.bytes, group));
      }
    }
  }

  /// Checks that all records that were read are records that were written.
  void expect_no_other_data(const std::vector<SegmentScan>& scans, const JournalVerdict& verdict) const {
    std::size_t next = 0;
    for (const JournalVerdict::Part& part : verdict.parts) {
      for (std::size_t i = 0; i < part.groups; ++i) {
        ASSERT_LT(next, shown.size());
        ASSERT_EQ(shown_group(scans[part.segment].bytes, scans[part.segment].groups[i]), shown[next++]);
      }
    }
    ASSERT_EQ(verdict.last_epoch, next);
  }

  void flip(std::size_t file, std::size_t bit) {
    char& byte = files[file].second[bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
  }

  std::vector<SegmentFile> files = two_segments();
  std::vector<std::string> shown;
};

TEST_F(FlippedTest, NoFlippedBitMakesOtherDataNorLosesDurableChanges) {
  ASSERT_EQ(shown.size(), 5U);
  constexpr std::uint64_t kKnownOnDisk = 3;
  constexpr std::size_t kStride = kSanitized ? 7 : 1;  // of bits: each place of a byte has its turn
  std::size_t refusals = 0;
  std::size_t cuts = 0;
  for (const std::size_t file : {0U, 1U}) {
    for (std::size_t bit = 0; bit < files[file].second.size() * 8; bit += kStride) {
      flip(file, bit);
      const std::vector<SegmentScan> scans = scan_all(files);
      const JournalVerdict verdict = judge_journal(scans, {});
      if (verdict.usable()) {
        ASSERT_GE(verdict.last_epoch, kKnownOnDisk) << "file " << file << " bit " << bit;
        expect_no_other_data(scans, verdict);
        cuts += verdict.last_epoch < 5 ? 1U : 0U;
      } else {
        ++refusals;
        // The file, and a block of it that ends behind the flipped bit.
        ASSERT_EQ(verdict.damage.substr(0, 28), "journal/" + segment_name(file + 1)) << verdict.damage;
        if (bit / 8 >= kPageBytes) {
          ASSERT_LE(scans[file].bad_at, bit / 8) << verdict.damage;
          ASSERT_GT(scans[file].bad_at + kPageBytes, bit / 8) << verdict.damage;
        }
      }
      const JournalVerdict prefix = judge_journal(scans, {.recover_prefix = true});
      ASSERT_TRUE(prefix.usable() || file == 0) << prefix.damage;
      expect_no_other_data(scans, prefix);
      flip(file, bit);
    }
  }
  EXPECT_GT(refusals * kStride, 30'000) << "bits of headers, and of groups known to be on disk";
  EXPECT_GT(cuts * kStride, 1000) << "bits of the tail";
}

}  // namespace
}  // namespace mxkv::server::test

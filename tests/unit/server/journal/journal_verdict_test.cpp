// All segments together: whole, torn, damaged, missing, replaced, behind a gap, of another format or place.
#include "server/journal/journal_verdict.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A segment of groups of a page each; each group says that the one before is on disk.
SegmentBuilder segment(const SegmentHeader& header, int groups) {
  SegmentBuilder builder(header);
  for (int i = 0; i < groups; ++i) {
    builder.add({{{FlushRecord{builder.next_epoch()}}}}, builder.next_epoch() - 1);
  }
  return builder;
}

/// Segments 16, 17 and 18 with epochs 1 to 4, 5 to 8 and 9 to 12.
std::vector<SegmentFile> three_segments() {
  const SegmentBuilder first = segment(header_of(16, 1), 4);
  const SegmentBuilder second = segment(header_of(17, 5, first.chain()), 4);
  const SegmentBuilder third = segment(header_of(18, 9, second.chain()), 4);
  return {{16, first.bytes()}, {17, second.bytes()}, {18, third.bytes()}};
}

TEST(JournalVerdict, AWholeJournalIsWhole) {
  const auto files = three_segments();
  const JournalVerdict verdict = judge_files(files);
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.torn, "");
  EXPECT_EQ(verdict.last_epoch, 12U);
  EXPECT_EQ(verdict.ceiling, 12'000U);
  EXPECT_EQ(verdict.newest_unix_us, 120'000U);
  EXPECT_EQ(verdict.chain, scan_all(files)[2].groups.back().chain);
  ASSERT_EQ(verdict.parts.size(), 3U);
  EXPECT_EQ(verdict.parts[1].segment, 1U);
  EXPECT_EQ(verdict.parts[1].groups, 4U);
  EXPECT_EQ(verdict.parts[1].end, files[1].second.size());
  EXPECT_THAT(verdict.unused, IsEmpty());
}

TEST(JournalVerdict, NoJournalIsAnEmptyOne) {
  EXPECT_EQ(judge_files({}).damage, "");
  EXPECT_EQ(judge_files({}).last_epoch, 0U);
  EXPECT_EQ(judge_files({}, {.from_epoch = 9, .needs_epoch = 8}).last_epoch, 8U);
}

TEST(JournalVerdict, TheLastGroupIsATornTail) {
  auto files = three_segments();
  files[2].second[4 * kPageBytes + 100] ^= 1;
  const JournalVerdict verdict = judge_files(files);
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.last_epoch, 11U);
  EXPECT_EQ(
      verdict.torn,
      "journal/0000000000000012.mxj: cut at byte 16384 (epoch 12), which was being written when it ended: "
      "a block does not match its hash");
}

TEST(JournalVerdict, AGroupThatALaterOneProvesToHaveBeenOnDiskIsDamaged) {
  auto files = three_segments();
  files[2].second[2 * kPageBytes + 200] ^= 1;  // in the padding
  EXPECT_EQ(judge_files(files).last_epoch, 12U);
  files[2].second[2 * kPageBytes + 40] ^= 1;
  EXPECT_EQ(
      judge_files(files).damage,
      "journal/0000000000000012.mxj: damaged at byte 8192 (epoch 10), although epoch 12 is whole. 2 epochs "
      "that were acknowledged are affected; restore, or start with --recover=prefix to go on without them");
}

TEST(JournalVerdict, ASegmentThatTheNextOneDoesNotGoOnFromIsDamaged) {
  auto files = three_segments();
  files[1].second[4 * kPageBytes + 100] ^= 1;
  EXPECT_THAT(
      judge_files(files).damage,
      StartsWith("journal/0000000000000011.mxj: damaged at byte 16480 (epoch 8), although epoch 12 is whole. "
                 "4 epochs that were acknowledged are affected; restore"));
  files[2].second.resize(kPageBytes);
  EXPECT_THAT(
      judge_files(files).damage,
      StartsWith(
          "journal/0000000000000011.mxj: damaged at byte 16480 (epoch 8), although "
          "journal/0000000000000012.mxj begins with epoch 9. 1 epoch that was acknowledged is affected"));
}

TEST(JournalVerdict, RecoversThePrefixIfAsked) {
  auto files = three_segments();
  files[1].second[2 * kPageBytes] ^= 1;
  const JournalVerdict verdict = judge_files(files, {.recover_prefix = true});
  EXPECT_EQ(verdict.damage, "");
  EXPECT_THAT(verdict.left_out, StartsWith("journal/0000000000000011.mxj: damaged at byte 8192 (epoch 6)"));
  EXPECT_THAT(verdict.left_out, HasSubstr("; they are left out"));
  EXPECT_EQ(verdict.last_epoch, 5U);
  EXPECT_EQ(verdict.parts.size(), 2U);
  EXPECT_THAT(verdict.unused, ElementsAre(2U));
  EXPECT_THAT(judge_files(files, {.from_epoch = 2, .needs_epoch = 6, .recover_prefix = true}).damage,
              HasSubstr("The checkpoint needs them"));
}

TEST(JournalVerdict, GroupsCutByARecoveryNeverComeBack) {
  // The tail was torn at epoch 8, or left out from there on; a new segment begins with 8.
  for (const bool with_third : {false, true}) {
    auto files = three_segments();
    const std::uint64_t chain = scan_all(files)[1].groups[2].chain;
    if (!with_third) {
      files.pop_back();
    }
    files.emplace_back(19, segment(header_of(19, 8, chain), 2).bytes());
    const JournalVerdict verdict = judge_files(files);
    EXPECT_EQ(verdict.damage, "");
    EXPECT_EQ(verdict.last_epoch, 9U);
    ASSERT_EQ(verdict.parts.size(), 3U);
    EXPECT_EQ(verdict.parts[1].groups, 3U);
    EXPECT_EQ(verdict.parts[1].end, 4 * kPageBytes);
    EXPECT_EQ(verdict.unused.size(), with_third ? 1U : 0U);
  }
}

TEST(JournalVerdict, AMissingSegmentIsNamed) {
  auto files = three_segments();
  files.erase(files.begin() + 1);
  EXPECT_EQ(judge_files(files).damage,
            "journal/0000000000000012.mxj: begins with epoch 9, but no file has those from epoch 5 on: one "
            "is missing. "
            "4 epochs that were acknowledged are affected; restore, or start with --recover=prefix to go on "
            "without "
            "them");
  files.erase(files.begin());
  EXPECT_THAT(judge_files(files).damage, HasSubstr("no file has those from epoch 1 on"));
  for (const bool prefix : {false, true}) {
    const std::string damage = judge_files(files, {.recover_prefix = prefix}).damage;
    EXPECT_THAT(damage, HasSubstr("; restore a backup")) << "there is no prefix";
    EXPECT_THAT(damage, Not(HasSubstr("--recover=prefix")));
  }
}

TEST(JournalVerdict, AJournalWithoutItsNewestSegmentIsDamaged) {
  auto files = three_segments();
  const JournalEnd running{.segment = 18, .epoch = 8};
  EXPECT_EQ(judge_files(files, {.end = running}).damage, "");
  files.pop_back();
  EXPECT_EQ(judge_files(files).damage, "") << "nothing in the journal proves it";
  EXPECT_EQ(judge_files(files, {.end = running}).damage,
            "journal/0000000000000012.mxj: is missing, although the journal went on in it behind epoch 8. "
            "Epochs that were acknowledged since are affected; restore, or start with --recover=prefix to go "
            "on without them");
  EXPECT_THAT(judge_files(files, {.end = {.segment = 18, .epoch = 12}}).damage,
              HasSubstr("4 epochs that were acknowledged are affected, and all that followed; restore, or"));
  const JournalVerdict prefix = judge_files(files, {.end = running, .recover_prefix = true});
  EXPECT_EQ(prefix.damage, "");
  EXPECT_EQ(prefix.last_epoch, 8U);
  EXPECT_THAT(prefix.left_out, StartsWith("journal/0000000000000012.mxj: is missing"));
  EXPECT_THAT(judge_files({}, {.end = running}).damage, HasSubstr("8 epochs that were acknowledged are"));
}

TEST(JournalVerdict, ANewestSegmentOfZerosOrWithoutBytesIsDamaged) {
  for (const std::string& spoiled :
       {std::string{}, std::string(100, '\0'), std::string(5 * kPageBytes, '\0')}) {
    auto files = three_segments();
    files[2].second = spoiled;
    const JournalVerdict verdict = judge_files(files, {.end = {.segment = 18, .epoch = 8}});
    EXPECT_THAT(verdict.damage, StartsWith("journal/0000000000000012.mxj: it is not a journal segment"));
    EXPECT_THAT(verdict.damage, HasSubstr("the journal went on in it behind epoch 8"));
  }
}

TEST(JournalVerdict, AnEndThatIsKnownIsReached) {
  auto files = three_segments();
  const JournalEnd end{.segment = 18, .epoch = 12};
  EXPECT_EQ(judge_files(files, {.end = end}).damage, "");
  files[2].second.resize(3 * kPageBytes);
  EXPECT_EQ(judge_files(files).last_epoch, 10U);
  EXPECT_EQ(judge_files(files, {.end = end}).damage,
            "journal/0000000000000012.mxj: damaged at byte 12288 (epoch 11), although epoch 12 was on disk. "
            "2 epochs that were acknowledged are affected; restore, or start with --recover=prefix to go on "
            "without them");
  EXPECT_EQ(judge_files(files, {.end = end, .recover_prefix = true}).last_epoch, 10U);
  EXPECT_THAT(judge_files(files, {.from_epoch = 9, .needs_epoch = 11, .end = end}).damage,
              HasSubstr("The checkpoint needs them up to epoch 11; restore a backup"));
}

TEST(JournalVerdict, ASegmentThatWasBegunBehindTheKnownEndHidesNothing) {
  // A crash came before the end was kept: the newest segment is empty, and the known end lies in the
  // one before.
  auto files = three_segments();
  files.emplace_back(19, segment(header_of(19, 13, scan_all(files)[2].groups.back().chain), 0).bytes());
  EXPECT_EQ(judge_files(files, {.end = {.segment = 18, .epoch = 8}}).damage, "");
  files.erase(files.begin() + 2);
  EXPECT_THAT(judge_files(files, {.end = {.segment = 18, .epoch = 8}}).damage, HasSubstr("missing"));
}

TEST(JournalVerdict, ASegmentOfAnotherHistoryIsRefused) {
  auto files = three_segments();
  files[1].second = segment(header_of(17, 5, 12345), 4).bytes();
  EXPECT_THAT(judge_files(files).damage, StartsWith("journal/0000000000000011.mxj: its epochs go on"));
  EXPECT_EQ(judge_files(files, {.recover_prefix = true}).last_epoch, 4U);
}

TEST(JournalVerdict, RenamedForeignAndNewerFilesAreRefusedByName) {
  auto files = three_segments();
  std::swap(files[1].second, files[2].second);
  EXPECT_EQ(judge_files(files).damage,
            "journal/0000000000000011.mxj: its header says that its name is 0000000000000012.mxj");
  EXPECT_FALSE(judge_files(files, {.recover_prefix = true}).usable());

  files = three_segments();
  files[1].second[16] ^= 1;
  seal_page(files[1].second.data());
  EXPECT_EQ(judge_files(files).damage,
            "journal/0000000000000011.mxj: it belongs to another directory than this one");

  files = three_segments();
  store_number(files[2].second.data() + 10, std::uint16_t{3});
  seal_page(files[2].second.data());
  EXPECT_EQ(judge_files(files).damage,
            "journal/0000000000000012.mxj: this journal segment is of format 2, which needs a reader of "
            "format 3; this "
            "is one of format 2");
}

TEST(JournalVerdict, FilesMadeAheadAreUnused) {
  auto files = three_segments();
  files.emplace_back(19, "");
  files.emplace_back(20, std::string(20'000, '\0'));
  // Recycled: renamed, but the header is not written yet.
  files.emplace_back(21, segment(header_of(3, 1), 4).bytes());
  const JournalVerdict verdict = judge_files(files, {.first_segment = 16});
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.last_epoch, 12U);
  EXPECT_THAT(verdict.unused, ElementsAre(3U, 4U, 5U));
  files.emplace_back(22, segment(header_of(22, 13, verdict.chain), 1).bytes());
  EXPECT_EQ(judge_files(files, {.first_segment = 16}).last_epoch, 13U)
      << "a recovery may leave them in between";
}

TEST(JournalVerdict, ADamagedHeaderIsNoFileMadeAhead) {
  for (const std::size_t damaged : {0U, 1U, 2U}) {
    auto files = three_segments();
    files[damaged].second[40] ^= 1;
    EXPECT_THAT(judge_files(files).damage,
                StartsWith("journal/" + segment_name(16 + damaged) + ": damaged at byte 0 (epoch " +
                           std::to_string(1 + 4 * damaged) + "), although "));
  }
}

TEST(JournalVerdict, SegmentsBeforeTheCheckpointAreNotNeeded) {
  auto files = three_segments();
  files[0].second.resize(100);
  for (const std::uint64_t from : {5U, 8U}) {
    const JournalVerdict verdict = judge_files(files, {.from_epoch = from, .needs_epoch = from});
    EXPECT_EQ(verdict.damage, "");
    EXPECT_EQ(verdict.last_epoch, 12U);
    EXPECT_EQ(verdict.parts.size(), 2U);
    EXPECT_THAT(verdict.unused, ElementsAre(0U));
  }
  EXPECT_THAT(judge_files(files, {.from_epoch = 4}).damage, HasSubstr("damaged at byte 0 (epoch 4)"));
  EXPECT_EQ(judge_files(files, {.from_epoch = 5, .needs_epoch = 13}).damage,
            "the journal ends with epoch 12. The checkpoint needs them up to epoch 13; restore a backup");
}

TEST(JournalVerdict, AGapIsPassedOnlyByACheckpointBegunBehindIt) {
  auto files = three_segments();
  SegmentHeader behind = header_of(19, 15, 777);
  behind.after_gap = true;
  SegmentBuilder builder(behind);
  for (int i = 0; i < 3; ++i) {
    builder.add({{{FlushRecord{builder.next_epoch()}}}}, 12);
  }
  files.emplace_back(19, builder.bytes());
  JournalVerdict verdict = judge_files(files);
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.last_epoch, 12U);
  EXPECT_THAT(verdict.gap, StartsWith("journal/0000000000000013.mxj: comes after a write that failed"));
  EXPECT_THAT(verdict.unused, ElementsAre(3U));
  verdict = judge_files(files, {.from_epoch = 16, .needs_epoch = 16});
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.last_epoch, 17U);
  EXPECT_EQ(verdict.gap, "");
}

TEST(JournalVerdict, AGroupWhoseWriteFailedMayBeThereBeforeTheGap) {
  auto files = three_segments();
  // The group of epoch 12 was given up: the segment behind the gap goes on from epoch 11, with epoch 13.
  SegmentHeader behind = header_of(19, 13, scan_all(files)[2].groups[2].chain);
  behind.after_gap = true;
  SegmentBuilder builder(behind);
  builder.add({{{FlushRecord{13}}}}, 11);
  files.emplace_back(19, builder.bytes());
  EXPECT_EQ(judge_files(files).damage, "");
  EXPECT_EQ(judge_files(files).last_epoch, 12U);
  EXPECT_THAT(judge_files(files).gap, StartsWith("journal/0000000000000013.mxj: "));
  EXPECT_EQ(judge_files(files, {.from_epoch = 13, .needs_epoch = 13}).last_epoch, 13U);
}

TEST(JournalVerdict, AGapHidesNoDamageBeforeIt) {
  auto files = three_segments();
  SegmentHeader behind = header_of(19, 14, scan_all(files)[2].groups[3].chain);
  behind.after_gap = true;
  SegmentBuilder builder(behind);
  builder.add({{{FlushRecord{14}}}}, 12);
  files.emplace_back(19, builder.bytes());
  EXPECT_EQ(judge_files(files).damage, "");
  files[2].second[4 * kPageBytes + 100] ^= 1;
  EXPECT_THAT(
      judge_files(files).damage,
      StartsWith(
          "journal/0000000000000012.mxj: damaged at byte 16480 (epoch 12), although epoch 14 is whole. "
          "1 epoch that was acknowledged is affected"));
}

}  // namespace
}  // namespace mxkv::server::test

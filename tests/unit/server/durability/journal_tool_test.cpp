// The journal's tools show the contents, distinguish torn from damaged, and change nothing.
#include "server/durability/journal_tool.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "server/durability/file_copy.hpp"
#include "tests/unit/server/durability/test_directory.hpp"

namespace mxkv::server::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using how = ToolOutcome::how;

class JournalToolTest : public testing::Test {
 protected:
  JournalToolTest() {
    journal.write_to(directory);
    directory.write_manifest(small_manifest());
  }
  void TearDown() override {
    if (!before.empty()) {
      EXPECT_EQ(directory.everything(), before);
    }
  }

  Told verify() {
    before = directory.everything();
    return told_by([this](const LinePrinter& print) { return verify_journal(directory.path(), print); });
  }
  Told dump(std::uint64_t from = 0) {
    before = directory.everything();
    return told_by([&](const LinePrinter& print) { return dump_journal(directory.path(), from, print); });
  }
  Told end() {
    before = directory.everything();
    return told_by([this](const LinePrinter& print) { return show_journal_end(directory.path(), print); });
  }
  /// A byte of a segment changed.
  void flip(std::uint64_t number, std::uint64_t at) {
    std::string bytes = directory.read(TestDirectory::segment(number));
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    directory.write(TestDirectory::segment(number), bytes);
  }

  TestDirectory directory;
  SmallJournal journal;
  std::string before;
};

TEST_F(JournalToolTest, VerifyReportsAllSegmentsRecordsAndTheEnd) {
  const Told told = verify();
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_THAT(told.text, HasSubstr("journal/0000000000000001.mxj: epochs 1 to 2, 2 groups, 3 records"));
  EXPECT_THAT(told.text,
              HasSubstr("journal/0000000000000002.mxj: epochs 3 to 3, 1 group, 1 record, 8192 of 16384"));
  EXPECT_THAT(told.text, HasSubstr("records: 4 (put 2, gone 1, flush 1), values 9003 bytes"));
  EXPECT_THAT(told.text, HasSubstr("last epoch: 3 of 1970-01-01 00:00:00.030 UTC, up to byte 8192 of journal/"
                                   "0000000000000002.mxj"));
  EXPECT_THAT(told.text, HasSubstr("end: clean\n"));
}

TEST_F(JournalToolTest, ATornTailIsNoDamage) {
  flip(2, journal.last_group + kCommitBlockBytes + kBlockHeaderBytes);
  const Told told = verify();
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_THAT(told.text, HasSubstr("end: torn"));
  EXPECT_THAT(told.text, HasSubstr("0000000000000002.mxj"));
  EXPECT_THAT(end().text, HasSubstr("last epoch: 2 of"));
}

TEST_F(JournalToolTest, DamageIsReportedWithFileByteAndEpoch) {
  flip(1, 2 * kPageBytes + kCommitBlockBytes + kBlockHeaderBytes);
  for (const Told& told : {verify(), end(), dump()}) {
    EXPECT_EQ(told.outcome.ended, how::damaged);
    EXPECT_THAT(told.outcome.complaint, StartsWith("journal/0000000000000001.mxj: damaged at byte "));
    EXPECT_THAT(told.outcome.complaint, HasSubstr("(epoch 2)"));
  }
  EXPECT_THAT(verify().text, HasSubstr("end: damaged\n"));
}

TEST_F(JournalToolTest, AMissingSegmentIsDamage) {
  std::filesystem::remove(directory.path() + "/" + TestDirectory::segment(1));
  const Told told = verify();
  EXPECT_EQ(told.outcome.ended, how::damaged);
  EXPECT_THAT(told.outcome.complaint, HasSubstr("0000000000000002.mxj: begins with epoch 3"));
}

TEST_F(JournalToolTest, AMissingNewestSegmentIsDamage) {
  Manifest manifest = small_manifest();
  manifest.end = {.segment = 2, .epoch = 3};
  directory.write_manifest(manifest);
  EXPECT_EQ(verify().outcome.ended, how::fine);
  std::filesystem::remove(directory.path() + "/" + TestDirectory::segment(2));
  for (const Told& told : {verify(), end(), dump()}) {
    EXPECT_EQ(told.outcome.ended, how::damaged);
    EXPECT_THAT(told.outcome.complaint, StartsWith("journal/0000000000000002.mxj: is missing"));
    EXPECT_THAT(told.outcome.complaint, HasSubstr("--recover=prefix"));
  }
}

TEST_F(JournalToolTest, WithoutAManifestItReportsTheSegmentsAndTheErrorOfAStart) {
  std::filesystem::remove(directory.path() + "/" + kManifestName);
  const Told told = verify();
  EXPECT_EQ(told.outcome.ended, how::damaged);
  EXPECT_THAT(told.text, HasSubstr("journal/0000000000000001.mxj: epochs 1 to 2"));
  EXPECT_THAT(told.text, HasSubstr("end: damaged\n"));
  EXPECT_THAT(told.outcome.complaint, HasSubstr("it has journal and no MANIFEST"));
  directory.write(kOldManifestName, manifest_text(small_manifest()));
  EXPECT_THAT(verify().outcome.complaint, HasSubstr("MANIFEST is missing, although MANIFEST.1 is there"));
}

TEST_F(JournalToolTest, AHugeHoleBehindTheEndIsNoMatter) {
  const std::string path = directory.path() + "/" + TestDirectory::segment(2);
  std::error_code wrong;
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40U, wrong);
  if (wrong) {
    GTEST_SKIP() << "this file system has no such files";
  }
  const Told told =
      told_by([this](const LinePrinter& print) { return verify_journal(directory.path(), print); });
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_THAT(told.text, HasSubstr("last epoch: 3 of"));
  EXPECT_THAT(told.text, HasSubstr("end: clean\n"));
}

TEST_F(JournalToolTest, ADamagedManifestIsReported) {
  directory.write(kManifestName, "format 1\n");
  const Told told = verify();
  EXPECT_EQ(told.outcome.ended, how::failed);
  EXPECT_THAT(told.outcome.complaint, HasSubstr("/MANIFEST: "));
}

TEST_F(JournalToolTest, DumpIsALineARecordInOrder) {
  const Told told = dump();
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_EQ(told.text,
            "1 w0 put order=1 key=\"a\" bytes=3 value=\"one\"\n"
            "2 w0 gone order=2 key=\"a\" deleted\n"
            "2 w0 put order=3 key=\"b\" bytes=9000\n"
            "3 w0 flush order=4\n");
}

TEST_F(JournalToolTest, BatchesAreToldWithTheirRecords) {
  TestDirectory other;
  SegmentBuilder segment(header_of(1, 1));
  const std::string payload = payload_of({FlushRecord{1}}) + batch_of({FlushRecord{2}, FlushRecord{3}});
  segment.add_payloads({{block_kind::records, payload, 3}});
  other.write(TestDirectory::segment(1), segment.bytes());
  other.write_manifest(small_manifest());
  const auto told = [&other](const auto& tool) {
    return told_by([&](const LinePrinter& print) { return tool(other.path(), print); }).text;
  };
  EXPECT_THAT(told(verify_journal), HasSubstr("records: 3 (flush 3), values 0 bytes, 1 batch\n"));
  EXPECT_EQ(
      told([](const std::string& path, const LinePrinter& print) { return dump_journal(path, 0, print); }),
      "1 w0 flush order=1\n1 w0 flush order=2 batch=1\n1 w0 flush order=3 batch=1\n");
}

TEST_F(JournalToolTest, DumpBeginsWithTheEpochAskedFor) {
  EXPECT_THAT(dump(2).text, StartsWith("2 w0 gone"));
  EXPECT_EQ(dump(3).text, "3 w0 flush order=4\n");
  EXPECT_EQ(dump(4).text, "");
}

TEST_F(JournalToolTest, DumpOfADamagedJournalPrintsTheWholeGroupsBeforeIt) {
  flip(1, 2 * kPageBytes + kCommitBlockBytes + kBlockHeaderBytes);
  EXPECT_EQ(dump().text, "1 w0 put order=1 key=\"a\" bytes=3 value=\"one\"\n");
}

TEST_F(JournalToolTest, DumpStopsWhenNobodyReadsAnyMore) {
  std::size_t lines = 0;
  const ToolOutcome outcome =
      dump_journal(directory.path(), 0, [&lines](std::string_view) { return ++lines < 2; });
  EXPECT_EQ(outcome.ended, how::fine);
  EXPECT_EQ(lines, 2U);
}

TEST_F(JournalToolTest, AnEmptyJournalHasNoEnd) {
  TestDirectory empty;
  const Told told = told_by([&](const LinePrinter& print) { return show_journal_end(empty.path(), print); });
  EXPECT_EQ(told.outcome.ended, how::fine);
  EXPECT_EQ(told.text, "last epoch: none\nend: clean\n");
}

TEST_F(JournalToolTest, AGroupBeingWrittenIsNoTornTail) {
  flip(2, journal.last_group + kCommitBlockBytes + kBlockHeaderBytes);
  const int lock = ::open((directory.path() + "/LOCK").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  if (!directory_in_use(directory.path())) {
    ::close(lock);
    GTEST_SKIP() << "this system does not tell who holds a lock";
  }
  EXPECT_THAT(verify().text, HasSubstr("end: a process uses the directory"));
  ::close(lock);
  EXPECT_THAT(verify().text, HasSubstr("end: torn"));
}

TEST_F(JournalToolTest, OtherDirectoriesAreRefused) {
  for (const std::string& path : {directory.path() + "/nothing", directory.path() + "/journal",
                                  directory.path() + "/" + TestDirectory::segment(1)}) {
    const Told told = told_by([&](const LinePrinter& print) { return verify_journal(path, print); });
    EXPECT_EQ(told.outcome.ended, how::refused);
    EXPECT_THAT(told.outcome.complaint, StartsWith(path + ": "));
    EXPECT_EQ(told.text, "");
  }
}

}  // namespace
}  // namespace mxkv::server::test

// A backup is a directory of its own with the same data; the directory that was backed up does not change.
#include "server/durability/backup.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/server/durability/test_directory.hpp"

namespace mxkv::server::test {
namespace {

using testing::HasSubstr;
using how = ToolOutcome::how;

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    journal.write_to(directory);
    directory.write_manifest(small_manifest());
  }
  Told back_up() {
    return told_by([this](const LinePrinter& print) {
      return server::back_up(directory.path(), directory.beside(), print);
    });
  }
  static std::string dump_of(const std::string& path) {
    return told_by([&](const LinePrinter& print) { return dump_journal(path, 0, print); }).text;
  }

  TestDirectory directory;
  SmallJournal journal;
};

TEST_F(BackupTest, HoldsTheSameAndLeavesTheDirectoryAlone) {
  const std::string before = directory.everything();
  const Told told = back_up();
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_EQ(told.text, directory.beside() + ": journal up to epoch 3 of 1970-01-01 00:00:00.030 UTC\n");
  EXPECT_EQ(directory.everything(), before);
  EXPECT_EQ(dump_of(directory.beside()), dump_of(directory.path()));
  const Told verified =
      told_by([this](const LinePrinter& print) { return verify_journal(directory.beside(), print); });
  EXPECT_EQ(verified.outcome.ended, how::fine) << verified.outcome.complaint;
  EXPECT_THAT(verified.text, HasSubstr("end: clean"));
}

TEST_F(BackupTest, KnowsItsOwnEnd) {
  Manifest manifest = small_manifest();
  manifest.end = {.segment = 1, .epoch = 0};
  directory.write_manifest(manifest);
  EXPECT_EQ(back_up().outcome.ended, how::fine);
  const auto verify = [this] {
    return told_by([this](const LinePrinter& print) { return verify_journal(directory.beside(), print); })
        .outcome;
  };
  EXPECT_EQ(verify().ended, how::fine) << verify().complaint;
  std::filesystem::remove(directory.beside() + "/" + TestDirectory::segment(2));
  EXPECT_EQ(verify().ended, how::damaged);
  EXPECT_THAT(verify().complaint, HasSubstr("0000000000000002.mxj: is missing"));
}

TEST_F(BackupTest, ATornTailIsLeftBehind) {
  std::string bytes = directory.read(TestDirectory::segment(2));
  bytes[journal.last_group + kCommitBlockBytes + kBlockHeaderBytes] ^= 1;
  directory.write(TestDirectory::segment(2), bytes);
  EXPECT_THAT(back_up().text, HasSubstr("up to epoch 2"));
  EXPECT_EQ(std::filesystem::file_size(directory.beside() + "/" + TestDirectory::segment(2)), kPageBytes);
}

TEST_F(BackupTest, PartsOfTheCheckpointAreSecondNamesOfTheSameFiles) {
  Manifest manifest = small_manifest();
  manifest.checkpoint = CheckpointEntry{.begun = 2, .needs = 3, .parts = 2, .items = 5, .flushes = {}};
  directory.write_manifest(manifest);
  std::filesystem::create_directories(directory.path() + "/" + checkpoint_path(2));
  directory.write(checkpoint_part_path(2, 0), "part 0");
  directory.write(checkpoint_part_path(2, 1), "part 1");
  const Told told = back_up();
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_THAT(told.text, HasSubstr("checkpoint of epoch 2 with 5 items; journal up to epoch 3"));
  for (const std::uint32_t part : {0U, 1U}) {
    EXPECT_TRUE(std::filesystem::equivalent(directory.path() + "/" + checkpoint_part_path(2, part),
                                            directory.beside() + "/" + checkpoint_part_path(2, part)));
  }
}

TEST_F(BackupTest, OnAnotherFileSystemPartsAreCopied) {
  std::string pattern = "/dev/shm/mxkv-backup-XXXXXX";
  struct stat here{};
  struct stat there{};
  if (::mkdtemp(pattern.data()) == nullptr || ::stat(directory.path().c_str(), &here) != 0 ||
      ::stat(pattern.c_str(), &there) != 0 || here.st_dev == there.st_dev) {
    ::rmdir(pattern.c_str());
    GTEST_SKIP() << "there is no other file system";
  }
  Manifest manifest = small_manifest();
  manifest.checkpoint = CheckpointEntry{.begun = 2, .needs = 3, .parts = 1, .flushes = {}};
  directory.write_manifest(manifest);
  std::filesystem::create_directories(directory.path() + "/" + checkpoint_path(2));
  const std::string part(std::size_t{3} << 20U, 'p');
  directory.write(checkpoint_part_path(2, 0), part);
  const Told told =
      told_by([&](const LinePrinter& print) { return server::back_up(directory.path(), pattern, print); });
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  std::ifstream copied(pattern + "/" + checkpoint_part_path(2, 0), std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(copied), {}) == part);
  std::filesystem::remove_all(pattern);
}

TEST_F(BackupTest, SegmentsBeforeTheCheckpointAreLeftBehind) {
  Manifest manifest = small_manifest();
  manifest.checkpoint = CheckpointEntry{.begun = 3, .needs = 3, .parts = 0, .flushes = {}};
  directory.write_manifest(manifest);
  EXPECT_EQ(back_up().outcome.ended, how::fine);
  EXPECT_FALSE(std::filesystem::exists(directory.beside() + "/" + TestDirectory::segment(1)));
  EXPECT_EQ(dump_of(directory.beside()), "3 w0 flush order=4\n");
}

TEST_F(BackupTest, ADamagedDirectoryGivesNoBackup) {
  std::string bytes = directory.read(TestDirectory::segment(1));
  bytes[2 * kPageBytes + kCommitBlockBytes + kBlockHeaderBytes] ^= 1;
  directory.write(TestDirectory::segment(1), bytes);
  const Told told = back_up();
  EXPECT_EQ(told.outcome.ended, how::damaged);
  EXPECT_THAT(told.outcome.complaint, HasSubstr("(epoch 2)"));
  EXPECT_FALSE(std::filesystem::exists(directory.beside()));
}

TEST_F(BackupTest, APartThatIsMissingGivesNoBackup) {
  Manifest manifest = small_manifest();
  manifest.checkpoint = CheckpointEntry{.begun = 2, .needs = 3, .parts = 1, .flushes = {}};
  directory.write_manifest(manifest);
  const Told told = back_up();
  EXPECT_EQ(told.outcome.ended, how::damaged);
  EXPECT_THAT(told.outcome.complaint, HasSubstr("part-0.mxc: No such file"));
  EXPECT_FALSE(std::filesystem::exists(directory.beside()));
}

TEST_F(BackupTest, WhereSomethingIsNothingIsWritten) {
  std::filesystem::create_directory(directory.beside());
  std::ofstream(directory.beside() + "/mine") << "mine";
  const std::string before = TestDirectory::everything_in(directory.beside());
  EXPECT_EQ(back_up().outcome.ended, how::refused);
  EXPECT_EQ(TestDirectory::everything_in(directory.beside()), before);
}

TEST_F(BackupTest, AnEmptyDirectoryWillDo) {
  std::filesystem::create_directory(directory.beside());
  EXPECT_EQ(back_up().outcome.ended, how::fine);
}

TEST_F(BackupTest, TheDirectoryItselfIsNoPlaceForIt) {
  for (const char* const inside : {"", "/journal/backup", "/backup"}) {
    const Told told = told_by([&](const LinePrinter& print) {
      return server::back_up(directory.path(), directory.path() + inside, print);
    });
    EXPECT_EQ(told.outcome.ended, how::refused) << inside;
  }
}

}  // namespace
}  // namespace mxkv::server::test

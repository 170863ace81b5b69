// Beside a process that writes: groups come, segments begin, checkpoints make old ones needless, and their files
// are written anew under other names. No tool takes any of it for damage.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "server/durability/backup.hpp"
#include "server/durability/directory_survey.hpp"
#include "server/durability/journal_tool.hpp"
#include "tests/unit/server/durability/test_directory.hpp"

namespace mxkv::server::test {
namespace {

using how = ToolOutcome::how;

constexpr std::uint64_t kKept = 4;  ///< segments; older ones are written anew
constexpr std::uint64_t kGroups = 60;
constexpr int kRounds = 10;
constexpr std::chrono::milliseconds kBetweenSegments{3};

/// Does to the files what a journal's writer does, but for the syncs.
class Writing {
 public:
  explicit Writing(const TestDirectory& directory) : directory_(directory) {}

  /// A segment of a few groups.
  void write_segment() {
    const std::uint64_t number = next_number_++;
    SegmentBuilder built(header_of(number, next_epoch_, chain_));
    std::vector<std::uint64_t> begins;
    for (std::uint64_t i = 0; i < kGroups; ++i) {
      const std::string value(i % 2 == 0 ? 20 : 6000, 'v');
      begins.push_back(built.add({{{PutRecord{.order = built.next_epoch(), .key = "key", .value = value}}}},
                                 built.next_epoch() - 1));
    }
    first_epochs_.push_back(next_epoch_);
    begins.push_back(built.bytes().size());
    std::FILE* const file = take_file(number, built.bytes().substr(0, kPageBytes));
    for (std::uint64_t i = 0; i < kGroups; ++i) {
      const std::string group = built.bytes().substr(begins[i], begins[i + 1] - begins[i]);
      EXPECT_EQ(::pwrite(::fileno(file), group.data(), group.size(), static_cast<off_t>(begins[i])),
                static_cast<ssize_t>(group.size()));
    }
    std::fclose(file);
    next_epoch_ = built.next_epoch();
    chain_ = built.chain();
    write_manifest(number);
  }

 private:
  [[nodiscard]] std::string path_of(std::uint64_t number) const {
    return directory_.path() + "/" + TestDirectory::segment(number);
  }

  /// The file of a segment that is not needed any more, or a new one, with its header.
  std::FILE* take_file(std::uint64_t number, const std::string& header) {
    const std::string spare = directory_.path() + "/journal/spare";
    if (number > kKept) {
      std::filesystem::rename(path_of(number - kKept), spare);
    }
    std::FILE* const file = std::fopen(spare.c_str(), number > kKept ? "r+b" : "w+b");
    EXPECT_EQ(std::fwrite(header.data(), 1, header.size(), file), header.size());
    std::fflush(file);
    std::filesystem::rename(spare, path_of(number));
    return file;
  }

  /// The checkpoint is begun two segments before; what is older may go.
  void write_manifest(std::uint64_t number) const {
    Manifest manifest = small_manifest();
    if (number > 2) {
      const std::uint64_t begun = first_epochs_[number - 3];
      manifest.first_segment = number - 2;
      manifest.checkpoint = CheckpointEntry{.begun = begun, .needs = begun, .flushes = {}};
    }
    directory_.write("MANIFEST.new", manifest_text(manifest));
    std::filesystem::rename(directory_.path() + "/MANIFEST.new", directory_.path() + "/MANIFEST");
  }

  const TestDirectory& directory_;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_epoch_ = 1;
  std::uint64_t chain_ = 0;
  std::vector<std::uint64_t> first_epochs_;
};

TEST(BesideAWriter, WhatTheNextReadingDoesNotFindIsNoDamage) {
  TestDirectory directory;
  SmallJournal journal;
  journal.write_to(directory);
  const std::string whole = directory.read(TestDirectory::segment(1));
  directory.write(TestDirectory::segment(1), whole.substr(0, 2 * kPageBytes));
  int readings = 1;
  const auto survey = survey_directory(directory.path(), [&] {
    ++readings;
    directory.write(TestDirectory::segment(1), whole);
  });
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey.value().damage, "");
  EXPECT_EQ(survey.value().verdict.last_epoch, 3U);
  EXPECT_EQ(readings, 2);
}

TEST(BesideAWriter, WhatTwoReadingsFindIsDamage) {
  TestDirectory directory;
  SmallJournal journal;
  journal.write_to(directory);
  directory.write(TestDirectory::segment(1), journal.first.bytes().substr(0, 2 * kPageBytes));
  int readings = 1;
  const auto survey = survey_directory(directory.path(), [&] { ++readings; });
  ASSERT_TRUE(survey);
  EXPECT_THAT(survey.value().damage, testing::HasSubstr("(epoch 2)"));
  EXPECT_EQ(readings, 2);
}

TEST(BesideAWriter, NoToolFindsDamageThatIsNone) {
  TestDirectory directory;
  Writing writing(directory);
  writing.write_segment();
  std::atomic<bool> ended{false};  // relaxed: join() orders the rest
  std::thread writer([&] {
    while (!ended.load(std::memory_order_relaxed)) {
      writing.write_segment();
      std::this_thread::sleep_for(kBetweenSegments);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    const auto ignore = [](std::string_view) { return true; };
    for (const ToolOutcome& outcome :
         {verify_journal(directory.path(), ignore), show_journal_end(directory.path(), ignore),
          dump_journal(directory.path(), 0, ignore), back_up(directory.path(), directory.beside(), ignore)}) {
      EXPECT_NE(outcome.ended, how::damaged) << outcome.complaint;
      EXPECT_NE(outcome.ended, how::refused) << outcome.complaint;
    }
    if (std::filesystem::exists(directory.beside())) {
      const ToolOutcome outcome = verify_journal(directory.beside(), ignore);
      EXPECT_EQ(outcome.ended, how::fine) << outcome.complaint;
      std::filesystem::remove_all(directory.beside());
    }
  }
  ended.store(true, std::memory_order_relaxed);
  writer.join();
  const ToolOutcome outcome = verify_journal(directory.path(), [](std::string_view) { return true; });
  EXPECT_EQ(outcome.ended, how::fine) << outcome.complaint;
}

}  // namespace
}  // namespace mxkv::server::test

// Tools beside a process that writes: groups come, segments begin, checkpoints make old segments needless,
// and their files are written anew under other names. No tool takes any of it for damage.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/clock.hpp"
#include "server/durability/backup.hpp"
#include "server/durability/directory_survey.hpp"
#include "server/durability/journal_tool.hpp"
#include "server/durability/manifest_file.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/posix_disk.hpp"
#include "tests/unit/server/durability/test_directory.hpp"

namespace mxkv::server::test {
namespace {

using how = ToolOutcome::how;

constexpr int kRounds = 20;           ///< of all tools
constexpr int kCheckpointEvery = 20;  ///< rounds of the worker

/// A journal on a real disk with its thread, and a worker that fills it. Checkpoints have no parts.
class FilledJournal {
 public:
  explicit FilledJournal(const TestDirectory& directory) {
    auto disk = PosixDisk::open_directory(directory.path());
    EXPECT_TRUE(disk) << disk.error().message;
    disk_ = std::move(disk).value();
    directory.write_manifest(small_manifest());
    manifest_ = std::make_unique<ManifestFile>(*disk_, small_manifest());
    JournalOptions options;
    options.segments.directory = test_directory();
    options.segments.segment_bytes = std::uint64_t{64} << 10U;
    options.segments.keep_end = [this](const JournalEnd& end) { return manifest_->keep_end(end); };
    WriterHooks hooks;
    hooks.greatest_order = [this] { return order_.load(std::memory_order_relaxed); };
    journal_ = std::make_unique<Journal>(*disk_, clock_, options, std::move(hooks));
    EXPECT_EQ(journal_->open(), "");
    journal_->start();
  }
  ~FilledJournal() { EXPECT_TRUE(journal_->flush_all_now()); }
  FilledJournal(const FilledJournal&) = delete;
  FilledJournal& operator=(const FilledJournal&) = delete;

  /// Values of many lengths, and now and then a checkpoint. The worker's thread.
  void fill() {
    for (int i = 0; i < kCheckpointEvery; ++i) {
      round(std::string(static_cast<std::size_t>(i) * 397 % 8000, 'v'));
    }
    const std::uint64_t before = journal_->end_epoch();
    while (journal_->writer().passed() < before) {
      round("");
    }
    const std::uint64_t begun = before + 1;
    journal_->need(begun, true);
    while (journal_->writer().synced() < begun) {
      round("");
    }
    EXPECT_FALSE(manifest_->change([begun](Manifest& manifest) {
      manifest.checkpoint = CheckpointEntry{.begun = begun, .needs = begun, .flushes = {}};
    }));
    journal_->truncate(begun);
  }
  void park() { journal_->park(kWorker); }

 private:
  static constexpr runtime::WorkerId kWorker{0};

  void round(const std::string& value) {
    static_cast<void>(journal_->begin_round(kWorker, clock_.steady_us()));
    journal_->buffer(kWorker).append(
        PutRecord{.order = order_.load(std::memory_order_relaxed), .key = "key", .value = value});
    order_.fetch_add(1, std::memory_order_relaxed);
    journal_->end_round(kWorker);
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }

  std::unique_ptr<PosixDisk> disk_;
  std::unique_ptr<ManifestFile> manifest_;
  runtime::SystemClock clock_;
  std::atomic<std::uint64_t> order_{1};  // relaxed: a number
  std::unique_ptr<Journal> journal_;
};

TEST(BesideAWriter, AFlawThatTheNextReadingDoesNotFindIsNoDamage) {
  TestDirectory directory;
  SmallJournal journal;
  journal.write_to(directory);
  directory.write_manifest(small_manifest());
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

TEST(BesideAWriter, AFlawThatTwoReadingsFindIsDamage) {
  TestDirectory directory;
  SmallJournal journal;
  journal.write_to(directory);
  directory.write_manifest(small_manifest());
  directory.write(TestDirectory::segment(1), journal.first.bytes().substr(0, 2 * kPageBytes));
  int readings = 1;
  const auto survey = survey_directory(directory.path(), [&] { ++readings; });
  ASSERT_TRUE(survey);
  EXPECT_THAT(survey.value().damage, testing::HasSubstr("(epoch 2)"));
  EXPECT_EQ(readings, 2);
}

TEST(BesideAWriter, NoToolFindsDamageThatIsNone) {
  TestDirectory directory;
  const auto ignore = [](std::string_view) { return true; };
  {
    FilledJournal journal(directory);
    std::atomic<bool> ended{false};  // relaxed: join() orders the rest
    std::thread worker([&] {
      while (!ended.load(std::memory_order_relaxed)) {
        journal.fill();
      }
      journal.park();
    });
    for (int round = 0; round < kRounds; ++round) {
      for (const ToolOutcome& outcome :
           {verify_journal(directory.path(), ignore), show_journal_end(directory.path(), ignore),
            dump_journal(directory.path(), 0, ignore),
            back_up(directory.path(), directory.beside(), ignore)}) {
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
    worker.join();
  }
  const Told told =
      told_by([&](const LinePrinter& print) { return verify_journal(directory.path(), print); });
  EXPECT_EQ(told.outcome.ended, how::fine) << told.outcome.complaint;
  EXPECT_THAT(told.text, testing::HasSubstr("end: clean"));
}

}  // namespace
}  // namespace mxkv::server::test

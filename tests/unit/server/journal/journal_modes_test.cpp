// When groups are written and flushed, by mode, and which replies and readers wait for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/journal/journal_world.hpp"

namespace mxkv::server::test {
namespace {

using config::sync_mode;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint64_t kCoveredNs = 14'000'000'000;
constexpr std::uint64_t kSlackUs = 20'000'000;

struct JournalModesTest : ::testing::Test, JournalWorld {
  void open_in(sync_mode mode, std::uint64_t interval_ns = kSecondNs) {
    options.writer.mode = {mode, interval_ns, true};
    open();
  }
  void put_one(std::string_view key = "key") {
    round(0, [&] { put(0, key, "value"); });
  }
  [[nodiscard]] std::uint64_t horizon() const { return journal->epochs().horizon_us(clock.steady_us()); }
};

TEST_F(JournalModesTest, InCommitRepliesAndReadersWait) {
  open_in(sync_mode::commit);
  EXPECT_TRUE(journal->writer().replies_wait(clock.monotonic_ns()));
  EXPECT_NE(horizon(), CommitEpochs::kNobodyWaits);
}

TEST_F(JournalModesTest, ReadersOfTheLatestDoNotWait) {
  options.writer.mode = {sync_mode::commit, kSecondNs, false};
  open();
  EXPECT_TRUE(journal->writer().replies_wait(clock.monotonic_ns()));
  EXPECT_EQ(horizon(), CommitEpochs::kNobodyWaits);
}

TEST_F(JournalModesTest, AtAnIntervalTheGroupIsFlushedWhenItsOldestRecordIsHalfAnIntervalOld) {
  open_in(sync_mode::interval);
  put_one();
  settle();
  EXPECT_EQ(journal->epochs().durable(), 0U);
  EXPECT_EQ(journal->writer().sleep_ns(), kSecondNs / 2);
  clock.advance_us(499'000);
  put_one("later");
  settle();
  EXPECT_EQ(journal->epochs().durable(), 0U);
  clock.advance_us(1'000);
  const std::size_t syncs = disk.syncs;
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U);
  EXPECT_EQ(disk.syncs, syncs + 1);
  EXPECT_THAT(read_groups(disk).at(0).keys(), ElementsAre("key", "later"));
  EXPECT_EQ(journal->writer().sleep_ns(), JournalWriter::kNoLimit);
}

TEST_F(JournalModesTest, AtAnIntervalRepliesWaitOnlyIfTheDiskIsFurtherBehind) {
  open_in(sync_mode::interval);
  EXPECT_FALSE(journal->writer().replies_wait(clock.monotonic_ns()));
  put_one();
  settle();
  clock.advance_us(900'000);
  EXPECT_FALSE(journal->writer().replies_wait(clock.monotonic_ns()));
  EXPECT_EQ(journal->writer().behind_ns(clock.monotonic_ns()), 900'000'000U);
  clock.advance_us(100'001);
  EXPECT_TRUE(journal->writer().replies_wait(clock.monotonic_ns()));
  settle();
  EXPECT_FALSE(journal->writer().replies_wait(clock.monotonic_ns()));
  EXPECT_EQ(journal->writer().behind_ns(clock.monotonic_ns()), 0U);
}

TEST_F(JournalModesTest, TheLagIsVisibleWhileTheWriterDoesNotRun) {
  open_in(sync_mode::interval);
  put_one();
  clock.advance_us(2'000'000);
  EXPECT_EQ(journal->writer().behind_ns(clock.monotonic_ns()), 2'000'000'000U);
  EXPECT_TRUE(journal->writer().replies_wait(clock.monotonic_ns()));
  settle();
  clock.advance_us(500'000);
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U);
  EXPECT_EQ(journal->writer().behind_ns(clock.monotonic_ns()), 0U);
}

TEST_F(JournalModesTest, AHeldReplyGetsItsEpochAtOnce) {
  open_in(sync_mode::interval);
  put_one();
  journal->need(journal->epochs().last_recorded());
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U);
}

TEST_F(JournalModesTest, FullBuffersAreWrittenBeforeTheirTime) {
  options.writer.early_bytes = 100'000;
  open_in(sync_mode::interval);
  round(0, [&] {
    for (int i = 0; i < 15; ++i) {
      put(0, "key", std::string(8000, 'v'));
    }
  });
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U);
}

TEST_F(JournalModesTest, WithoutSyncGroupsAreWrittenAndNotFlushed) {
  open_in(sync_mode::never);
  const std::size_t syncs = disk.syncs;
  put_one();
  settle();
  EXPECT_EQ(journal->epochs().durable(), 0U);
  clock.advance_us(10'000);
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U) << "as far as that word goes";
  EXPECT_EQ(journal->writer().synced(), 0U);
  EXPECT_EQ(disk.syncs, syncs);
  EXPECT_THAT(read_groups(disk).at(0).keys(), ElementsAre("key"));
  EXPECT_FALSE(journal->writer().replies_wait(clock.monotonic_ns() + kCoveredNs - 1));
}

TEST_F(JournalModesTest, WithoutSyncACheckpointGetsTheEpochsThatItNeedsFlushed) {
  open_in(sync_mode::never);
  put_one();
  settle_lazily();
  journal->need(1, true);
  settle();
  EXPECT_EQ(journal->writer().synced(), 1U);
  journal->need(journal->epochs().current(), true);
  settle();
  EXPECT_EQ(journal->writer().synced(), 2U);
}

TEST_F(JournalModesTest, WithoutSyncASegmentIsFlushedBeforeTheNextOneBegins) {
  open_in(sync_mode::never);
  for (int i = 0; i < 40; ++i) {
    round(0, [&] { put(0, "key", std::string(8000, 'v')); });
    settle_lazily();
  }
  // Syncs: one for each new file, one for the header of each segment, and one for the end of all segments but
  // one.
  EXPECT_EQ(disk.syncs, disk.files.size() + 2 * journal->segments().segments() - 1);
}

TEST_F(JournalModesTest, TheMarkNamesTheEpochThatIsFlushedNotTheOneThatIsWritten) {
  open_in(sync_mode::never);
  for (int i = 0; i < 2; ++i) {
    put_one();
    settle_lazily();
  }
  EXPECT_EQ(read_groups(disk).at(1).commit.durable, 0U);
}

TEST_F(JournalModesTest, TheCeilingIsExactOnlyIfNoReadSeesChangesThatAreNotDurable) {
  open_in(sync_mode::commit);
  put_one();
  settle();
  EXPECT_EQ(read_groups(disk).back().commit.ceiling, order);
  options.writer.mode.sync = sync_mode::interval;
  journal->set_mode(options.writer.mode);
  EXPECT_EQ(journal->writer().mode().sync, sync_mode::commit)
      << "not before a group with the ceiling is on disk";
  const std::size_t syncs = disk.syncs;
  settle();
  EXPECT_EQ(journal->writer().mode().sync, sync_mode::interval);
  EXPECT_EQ(disk.syncs, syncs + 1);
  EXPECT_THAT(read_groups(disk), SizeIs(2));
  EXPECT_EQ(read_groups(disk).back().commit.ceiling, order + kSlackUs);
  EXPECT_EQ(horizon(), CommitEpochs::kNobodyWaits);
}

// No group is written while nothing is recorded, so the ceiling on disk falls behind the clock. If the process is
// killed before the next group, and its clock goes back, the next process mints from that ceiling.
TEST_F(JournalModesTest, AfterARestClientsSeeNoCasAboveTheCeilingOnDisk) {
  struct Case {
    JournalMode mode;
    bool is_commit;
  };
  for (const Case& one :
       {Case{{sync_mode::interval, kSecondNs, true}, false}, Case{{sync_mode::never, kSecondNs, true}, false},
        Case{{sync_mode::commit, kSecondNs, false}, true}}) {
    options.writer.mode = one.mode;
    open();
    put_one();
    settle();
    clock.advance_us(500'000);
    settle();
    ASSERT_EQ(journal->epochs().durable(), 1U);
    EXPECT_EQ(horizon(), CommitEpochs::kNobodyWaits);
    clock.advance_us(60'000'000);
    order += 60'000'000;
    ASSERT_LT(read_groups(disk).back().commit.ceiling, order);
    EXPECT_NE(horizon(), CommitEpochs::kNobodyWaits) << "a read of the next change waits";
    put_one();
    EXPECT_EQ(journal->must_wait_for(), 2U) << "a reply waits";
    journal->need(2);
    settle();
    EXPECT_EQ(journal->must_wait_for(), 0U);
    EXPECT_EQ(read_groups(disk).back().commit.ceiling, order + kSlackUs);
    put_one();
    EXPECT_EQ(journal->must_wait_for(), one.is_commit ? 3U : 0U);
    EXPECT_EQ(horizon(), CommitEpochs::kNobodyWaits);
    journal.reset();
    disk.files.clear();
  }
}

TEST_F(JournalModesTest, ASwitchToCommitFlushesGroupsThatWereOnlyWritten) {
  open_in(sync_mode::never);
  put_one();
  settle_lazily();
  ASSERT_EQ(journal->writer().synced(), 0U);
  journal->set_mode({});
  settle();
  EXPECT_EQ(journal->writer().mode().sync, sync_mode::commit);
  EXPECT_EQ(journal->writer().synced(), 2U);
  EXPECT_EQ(read_groups(disk).back().commit.ceiling, order + kSlackUs) << "orders were seen before";
  put_one();
  settle();
  EXPECT_EQ(read_groups(disk).back().commit.ceiling, order);
}

}  // namespace
}  // namespace mxkv::server::test

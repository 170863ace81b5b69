// Disks that are full, slow or broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/journal/journal_world.hpp"

namespace mxkv::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct JournalFaultsTest : ::testing::Test, JournalWorld {
  void put_one(std::string_view key, std::size_t bytes = 8) {
    round(0, [&] { put(0, key, std::string(bytes, 'v')); });
  }
  /// A group of its own.
  void commit(std::string_view key, std::size_t bytes = 8) {
    put_one(key, bytes);
    settle();
  }
  [[nodiscard]] const JournalWriter& writer() const { return journal->writer(); }
};

TEST_F(JournalFaultsTest, AFullDiskIsMetAheadAndRefusesWhileTheSegmentStillHasRoom) {
  open();
  disk.room = disk.used();
  commit("a", 8000);
  EXPECT_EQ(writer().state(), journal_state::running);
  for (int i = 0; i < 4; ++i) {
    commit("b", 8000);
  }
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_EQ(writer().refusal(), "no space left on device");
  EXPECT_EQ(journal->epochs().durable(), 5U) << "what was recorded before has room";
  EXPECT_EQ(writer().sleep_ns(), kSecondNs);
  disk.room *= 10;
  settle();
  EXPECT_EQ(writer().state(), journal_state::refusing) << "not before the second is over";
  clock.advance_us(1'000'000);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_EQ(writer().refusal(), "");
  EXPECT_EQ(writer().sleep_ns(), JournalWriter::kNoLimit);
}

TEST_F(JournalFaultsTest, AFullDiskTakesTheHistoryBeforeItRefusesAWrite) {
  options.writer.history_bytes = 100 * kSegmentBytes;
  open();
  fill(60);
  journal->truncate(journal->epochs().durable());
  settle();
  const std::uint64_t history = journal->segments().total_bytes() - journal->segments().needed_bytes();
  EXPECT_GT(history, 5 * kSegmentBytes);
  disk.room = disk.used();
  fill(30);
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_EQ(journal->epochs().durable(), 90U);
  EXPECT_EQ(journal->segments().total_bytes(), journal->segments().needed_bytes());
}

TEST_F(JournalFaultsTest, AGroupWithoutRoomIsWrittenWhenThereIsSome) {
  open();
  disk.room = disk.used();
  put_one("large", 8000);
  round(1, [&] {
    for (int i = 0; i < 10; ++i) {
      put(1, "more", std::string(8000, 'v'));
    }
  });
  settle();
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_EQ(journal->epochs().durable(), 0U);
  EXPECT_GT(changes, 0U);
  put_one("behind");
  settle();
  clock.advance_us(1'000'000);
  settle();
  EXPECT_EQ(journal->epochs().durable(), 0U);
  EXPECT_EQ(writer().counts().no_space, 2U);
  disk.room *= 10;
  clock.advance_us(1'000'000);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_EQ(journal->epochs().durable(), 2U);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].puts, SizeIs(11));
  EXPECT_THAT(groups[1].keys(), ElementsAre("behind"));
}

TEST_F(JournalFaultsTest, AWriteThatFindsNoSpaceIsMadeAgainAtTheSamePlace) {
  open();
  commit("a");
  disk.write_error = ENOSPC;
  commit("b");
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_EQ(journal->epochs().durable(), 1U);
  clock.advance_us(1'000'000);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_EQ(journal->epochs().durable(), 2U);
  EXPECT_THAT(read_groups(disk), SizeIs(2));
}

struct FailureKind {
  const char* name;
  int MemoryDisk::* error;
};

struct JournalFailureTest : JournalFaultsTest, ::testing::WithParamInterface<FailureKind> {};

TEST_P(JournalFailureTest, RecordsOfAFailedWriteNeverBecomeDurable) {
  open();
  commit("good");
  disk.*(GetParam().error) = EIO;
  put_one("lost");
  settle();
  EXPECT_EQ(writer().state(), journal_state::broken);
  EXPECT_EQ(writer().failures(), 1U);
  EXPECT_EQ(writer().gap_end(), 3U);
  EXPECT_EQ(journal->epochs().durable(), 1U);
  EXPECT_EQ(journal->waiting_bytes(), 0U);
  EXPECT_THAT(writer().refusal(), HasSubstr("0000000000000001.mxj"));
  EXPECT_THAT(warnings, SizeIs(1));
  // It goes on, elsewhere, and still nothing is durable.
  const std::string old = disk.at("journal/" + segment_name(1));
  commit("behind");
  EXPECT_EQ(journal->epochs().durable(), 1U);
  EXPECT_EQ(writer().synced(), 3U);
  EXPECT_EQ(disk.at("journal/" + segment_name(1)), old) << "not touched again";
  const std::vector<ReadSegment> segments = read_segments(disk);
  ASSERT_THAT(segments, SizeIs(2));
  EXPECT_TRUE(segments[1].header.after_gap);
  EXPECT_EQ(segments[1].header.first_epoch, 3U);
  EXPECT_THAT(segments[1].groups.at(0).keys(), ElementsAre("behind"));
  EXPECT_EQ(segments[1].groups.at(0).commit.durable, 1U) << "of the lost epoch it cannot say that";
}

TEST_P(JournalFailureTest, ACheckpointBehindTheGapMakesEverythingDurable) {
  open();
  disk.*(GetParam().error) = EIO;
  commit("lost");
  commit("behind");
  journal->rebased(1);
  settle();
  EXPECT_EQ(writer().state(), journal_state::broken)
      << "begun before the gap, it does not have what was lost";
  const std::uint64_t epoch = journal->end_epoch();
  settle();
  EXPECT_EQ(writer().passed(), epoch);
  EXPECT_EQ(journal->epochs().durable(), 0U);
  journal->rebased(epoch + 1);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_EQ(writer().refusal(), "");
  EXPECT_EQ(journal->epochs().durable() + 1, journal->epochs().current());
  EXPECT_EQ(writer().failures(), 1U) << "what waited before is still not answered";
  commit("on");
  EXPECT_EQ(journal->epochs().durable() + 1, journal->epochs().current());
}

INSTANTIATE_TEST_SUITE_P(Kinds, JournalFailureTest,
                         ::testing::Values(FailureKind{"write", &MemoryDisk::write_error},
                                           FailureKind{"sync", &MemoryDisk::sync_error}),
                         [](const auto& kind) { return kind.param.name; });

TEST_F(JournalFaultsTest, AFailedFlushOfASegmentThatEndsLosesTheGroupToCome) {
  options.writer.mode.sync = config::sync_mode::never;
  open();
  for (int i = 0; i < 6; ++i) {
    put_one("key", 8000);
    settle_lazily();
  }
  disk.sync_error = EIO;
  for (int i = 0; i < 2; ++i) {
    put_one("key", 8000);
    settle_lazily();
  }
  EXPECT_EQ(writer().state(), journal_state::broken);
  EXPECT_EQ(writer().gap_end(), 9U);
}

TEST_F(JournalFaultsTest, ASegmentThatCannotBeBegunIsTriedAgain) {
  open();
  for (int i = 0; i < 7; ++i) {
    commit("key", 8000);
  }
  disk.write_error = EIO;  // of the header: no group that counts was there
  commit("next", 8000);
  EXPECT_EQ(writer().state(), journal_state::refusing);
  clock.advance_us(1'000'000);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_THAT(read_groups(disk), SizeIs(8));
}

TEST_F(JournalFaultsTest, AJournalAboveItsLimitRefusesAndStillWritesItsGroups) {
  options.writer.most_bytes = 2 * kSegmentBytes;
  open();
  fill(20);
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_THAT(writer().refusal(), HasSubstr("131072 bytes"));
  EXPECT_EQ(journal->epochs().durable(), 20U);
  journal->set_most_bytes(100 * kSegmentBytes);
  settle();
  EXPECT_EQ(writer().state(), journal_state::running);
}

TEST_F(JournalFaultsTest, ASlowFlushIsCountedAndSaidOnceASecond) {
  open();
  disk.at_sync = [&] { clock.advance_us(1'500'000); };
  commit("a");
  EXPECT_EQ(writer().counts().slow, 1U);
  EXPECT_THAT(warnings, ElementsAre("journal: a flush took 1500 ms"));
  EXPECT_EQ(writer().flush_times().figures().most_ns, 1'500'000'000U);
  disk.at_sync = [] {};
  for (int i = 0; i < 99; ++i) {
    commit("b");
  }
  EXPECT_EQ(writer().counts().slow, 1U);
  EXPECT_EQ(writer().flush_times().figures().p50_ns, 0U);
  EXPECT_EQ(writer().flush_times().figures().flushes, 100U);
}

TEST_F(JournalFaultsTest, AStartWithoutSpaceSaysSo) {
  disk.room = 100;
  journal = std::make_unique<Journal>(disk, clock, options, WriterHooks{.greatest_order = [] { return 0; }});
  EXPECT_THAT(journal->open(), HasSubstr("0000000000000001.mxj"));
}

/// A journal that goes on behind an earlier one: the test makes the first try to begin it.
struct JournalStartTest : JournalFaultsTest {
  JournalStartTest() {
    options.segments.keep_end = [this](const JournalEnd& end) {
      if (const int error = std::exchange(keep_error, 0)) {
        return error;
      }
      ends.push_back(end);
      groups.push_back(read_groups(disk).size());
      return 0;
    };
  }
  [[nodiscard]] std::string begin() {
    make();
    return journal->begin();
  }
  void after_a_second() {
    clock.advance_us(1'000'000);
    settle();
  }

  std::vector<JournalEnd> ends;     ///< that were kept
  std::vector<std::size_t> groups;  ///< on disk at each of them
  int keep_error = 0;               ///< of the next
};

TEST_F(JournalStartTest, OnAFullDiskItRefusesWritesUntilThereIsRoom) {
  disk.room = 100;
  EXPECT_EQ(begin(), "");
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_TRUE(writer().out_of_space());
  EXPECT_EQ(writer().refusal(), "no space left on device");
  EXPECT_THAT(ends, IsEmpty());
  after_a_second();
  EXPECT_EQ(writer().state(), journal_state::refusing);
  disk.room = 10 * kSegmentBytes;
  after_a_second();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_FALSE(writer().out_of_space());
  EXPECT_EQ(writer().synced(), 1U);
  EXPECT_THAT(ends, ElementsAre(JournalEnd{.segment = 1, .epoch = 0}));
  commit("a");
  EXPECT_EQ(journal->epochs().durable(), 2U);
}

TEST_F(JournalStartTest, TheCopyOfATailFindsRoomWhereTheFormerProcessAllocatedAhead) {
  EXPECT_EQ(begin(), "");
  commit("killed");
  options.first_epoch = journal->epochs().durable() + 1;
  options.segments.next_number = 2;
  options.segments.chain = read_segments(disk).at(0).last_chain;
  options.segments.unproven = {.number = 1, .end = 3 * kPageBytes};
  journal.reset();
  disk.room = disk.used();
  EXPECT_EQ(begin(), "");
  EXPECT_EQ(disk.at("journal/" + segment_name(1)).size(), 3 * kPageBytes);
  EXPECT_THAT(read_groups(disk).at(1).keys(), ElementsAre("killed"));
  EXPECT_EQ(writer().state(), journal_state::refusing) << "a segment does not fit";
  disk.room = 10 * kSegmentBytes;
  after_a_second();
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_THAT(read_segments(disk), SizeIs(2));
}

TEST_F(JournalStartTest, WithoutRoomForTheCopyOfATailItIsRefused) {
  EXPECT_EQ(begin(), "");
  commit("killed");
  options.segments.unproven = {.number = 1, .end = 3 * kPageBytes};
  journal.reset();
  disk.room = 100;
  EXPECT_THAT(begin(), HasSubstr("journal/0000000000000001.mxj"));
  EXPECT_THAT(begin(), HasSubstr("there is no room for that"));
}

TEST_F(JournalStartTest, OnADiskThatCannotWriteItIsRefused) {
  disk.write_error = EIO;
  EXPECT_THAT(begin(), HasSubstr("0000000000000001.mxj"));
}

TEST_F(JournalStartTest, AnEndThatCannotBeKeptHoldsTheSegmentsGroupsBack) {
  keep_error = ENOSPC;
  EXPECT_EQ(begin(), "");
  after_a_second();
  EXPECT_EQ(writer().synced(), 1U);
  for (keep_error = EIO; ends.size() == 1;) {
    commit("a", 8000);
    if (writer().state() == journal_state::refusing) {
      EXPECT_EQ(keep_error, 0) << "the second segment is there, and its end is not kept";
      const std::size_t before = read_groups(disk).size();
      commit("b");
      EXPECT_EQ(read_groups(disk).size(), before);
      after_a_second();
    }
  }
  EXPECT_EQ(writer().state(), journal_state::running);
  EXPECT_THAT(read_segments(disk), SizeIs(2)) << "the same segment was used then";
}

TEST_F(JournalStartTest, TheEndIsKeptBeforeASegmentTakesAGroup) {
  EXPECT_EQ(begin(), "");
  fill(20);
  ASSERT_GT(ends.size(), 2U);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i].segment, i + 1);
    EXPECT_EQ(ends[i].epoch, groups[i]) << "an epoch is a group here";
  }
}

TEST_F(JournalStartTest, WhileBrokenOnlyProvenSegmentsAreKept) {
  EXPECT_EQ(begin(), "");
  commit("good");
  disk.sync_error = EIO;
  commit("lost");
  fill(12);
  EXPECT_EQ(writer().state(), journal_state::broken);
  ASSERT_GT(ends.size(), 2U);
  EXPECT_EQ(ends[1], (JournalEnd{.segment = 2, .epoch = 2}));
  EXPECT_EQ(ends[2], (JournalEnd{.segment = 3, .epoch = 2}));
  const std::uint64_t epoch = journal->end_epoch();
  settle();
  journal->rebased(epoch + 1);
  fill(12);
  EXPECT_GT(ends.back().epoch, epoch);
}

TEST_F(JournalStartTest, AnEndInOrderDoesNotWaitForTheNextTry) {
  EXPECT_EQ(begin(), "");
  disk.write_error = ENOSPC;
  commit("late");
  EXPECT_EQ(writer().state(), journal_state::refusing);
  EXPECT_TRUE(journal->flush_all_now());
  EXPECT_THAT(read_groups(disk).at(1).keys(), ElementsAre("late"));
}

}  // namespace
}  // namespace mxkv::server::test

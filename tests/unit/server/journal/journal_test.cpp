// The journal without its thread: a test steps the writer, and reads back the disk's contents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/journal/group_reader.hpp"
#include "tests/unit/server/journal/journal_world.hpp"

namespace mxkv::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct JournalTest : ::testing::Test, JournalWorld {};

TEST_F(JournalTest, RecordsAreDurableWhenTheirGroupIsFlushed) {
  open();
  round(0, [&] { put(0, "key", "value"); });
  EXPECT_EQ(journal->epochs().last_recorded(), 1U);
  EXPECT_EQ(journal->epochs().durable(), 0U);
  const std::size_t syncs = disk.syncs;
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U);
  EXPECT_EQ(disk.syncs, syncs + 1);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].epoch, 1U);
  ASSERT_EQ(groups[0].puts.size(), 1U);
  EXPECT_EQ(groups[0].puts[0].key, "key");
  EXPECT_EQ(groups[0].puts[0].value, "value");
  EXPECT_FALSE(journal->step()) << "nothing waits";
  EXPECT_EQ(journal->writer().sleep_ns(), JournalWriter::kNoLimit) << "and nothing will by itself";
}

TEST_F(JournalTest, RecordsOfTwoWorkersGoInOneGroup) {
  open();
  round(0, [&] { put(0, "a", "1"); });
  round(1, [&] { put(1, "b", "2"); });
  const std::size_t syncs = disk.syncs;
  settle();
  EXPECT_EQ(disk.syncs, syncs + 1);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].keys(), ElementsAre("a", "b"));
  EXPECT_EQ(groups[0].puts[1].worker, 1U);
}

TEST_F(JournalTest, TheGroupWaitsForAWorkerInsideOfARound) {
  open();
  static_cast<void>(journal->begin_round(worker(1), 10));
  round(0, [&] { put(0, "a", "1"); });
  settle();
  EXPECT_EQ(journal->epochs().durable(), 0U);
  put(1, "late", "2");
  EXPECT_EQ(journal->epochs().last_recorded(), 2U) << "the first epoch is closed";
  journal->end_round(worker(1));
  settle();
  EXPECT_EQ(journal->epochs().durable(), 1U) << "the worker has not passed the second one";
  ASSERT_EQ(read_groups(disk).size(), 1U);
  EXPECT_THAT(read_groups(disk)[0].keys(), ElementsAre("a"));
  journal->end_round(worker(1));
  settle();
  ASSERT_EQ(read_groups(disk).size(), 2U);
  EXPECT_THAT(read_groups(disk)[1].keys(), ElementsAre("late"));
}

TEST_F(JournalTest, AnOperationsRecordsHaveOneLabelThoughTheEpochEndsInBetween) {
  open();
  round(0, [&] {
    put(0, "before", "");
    journal->buffer(worker(0)).begin_group();
    put(0, "one", "");
    while (journal->step()) {
    }
    ASSERT_EQ(journal->epochs().current(), 2U);
    put(0, "two", "");
    journal->buffer(worker(0)).end_group();
    put(0, "behind", "");
  });
  settle();
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].keys(), ElementsAre("before", "one", "two"));
  EXPECT_THAT(groups[1].keys(), ElementsAre("behind"));
}

/// The records of all groups, each with its batch in the group: "1: one/1 two/1 ".
std::string batches_on(MemoryDisk& disk) {
  std::string seen;
  for (const auto& [path, bytes] : disk.files) {
    const std::uint64_t number = segment_number(path.substr(path.find('/') + 1));
    const SegmentScan scan = scan_segment(path, number, *bytes, {});
    for (const ScannedGroup& group : scan.groups) {
      GroupReader reader(*bytes, group);
      seen += std::to_string(group.epoch) + ": ";
      while (const auto entry = reader.next()) {
        seen +=
            std::string{std::get<PutRecord>(entry->record).key} + "/" + std::to_string(entry->batch) + " ";
      }
      EXPECT_EQ(reader.wrong(), nullptr) << reader.wrong();
    }
  }
  return seen;
}

TEST_F(JournalTest, AnOperationsRecordsAreMarkedAsABatchAlsoOverBlocks) {
  open();
  Value value{std::string(20'000, 'x')};
  round(0, [&] {
    put(0, "before", "");
    journal->buffer(worker(0)).begin_group();
    put(0, "one", "");
    put_apart(0, "large", value);
    journal->buffer(worker(0)).end_group();
    put(0, "behind", "");
    journal->buffer(worker(0)).begin_group();
    put_apart(0, "alone", value);
    journal->buffer(worker(0)).end_group();
  });
  round(1, [&] {
    journal->buffer(worker(1)).begin_group();
    for (int i = 0; i < 40; ++i) {
      put(1, "k", std::string(8000, 'v'));  // more than a chunk
    }
    journal->buffer(worker(1)).end_group();
  });
  settle();
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many += "k/3 ";
  }
  EXPECT_EQ(batches_on(disk), "1: before/0 one/1 large/1 behind/0 alone/2 " + many);
  EXPECT_EQ(journal->writer().counts().records.load(), 45U) << "marks are no records";
  journal.reset();  // while there are the values that it holds
}

TEST_F(JournalTest, AGroupThatDoesNotFitBeginsTheNextSegment) {
  open();
  const std::string value(8000, 'v');
  for (int i = 0; i < 40; ++i) {
    round(0, [&] { put(0, "key" + std::to_string(i), value); });
    settle();
  }
  const std::vector<ReadSegment> segments = read_segments(disk);
  EXPECT_GT(segments.size(), 3U);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 40U);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_THAT(groups[i].keys(), ElementsAre("key" + std::to_string(i)));
  }
}

TEST_F(JournalTest, AGroupThatIsLargerThanASegmentMakesItsSegmentLonger) {
  open();
  round(0, [&] {
    for (int i = 0; i < 100; ++i) {
      put(0, "key" + std::to_string(i), std::string(8000, 'v'));
    }
  });
  settle();
  round(0, [&] { put(0, "next", ""); });
  settle();
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].puts.size(), 100U);
  EXPECT_GT(groups[0].commit.group_bytes, kSegmentBytes);
  EXPECT_THAT(groups[1].keys(), ElementsAre("next"));
}

TEST_F(JournalTest, TheNextSegmentIsMadeAheadOnce) {
  open();
  const std::uint64_t before = journal->segments().total_bytes();
  round(0, [&] {
    for (int i = 0; i < 5; ++i) {
      put(0, "key", std::string(8000, 'v'));
    }
  });
  settle();
  EXPECT_EQ(journal->segments().total_bytes(), 2 * before);
  settle();
  EXPECT_EQ(journal->segments().total_bytes(), 2 * before);
  EXPECT_EQ(journal->segments().segments(), 1U);
}

TEST_F(JournalTest, LargeValuesAreWrittenFromWhereTheyAreAndReleasedByTheirWorker) {
  open();
  Value value{std::string(20'000'000, 'x')};
  Value small{std::string(9'000, 'y')};
  round(0, [&] {
    put(0, "before", "1");
    put_apart(0, "large", value);
    put_apart(0, "small", small);
    put(0, "behind", "2");
  });
  EXPECT_GT(journal->waiting_bytes(), 20'000'000U);
  settle();
  EXPECT_EQ(journal->waiting_bytes(), 0U);
  EXPECT_EQ(value.releases, 0) << "not by the writer";
  round(0, [] {});
  EXPECT_EQ(value.releases, 1);
  EXPECT_EQ(small.releases, 1);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].keys(), ElementsAre("before", "large", "small", "behind"));
  EXPECT_EQ(groups[0].puts[1].value, value.bytes);
  EXPECT_EQ(groups[0].puts[2].value, small.bytes);
}

TEST_F(JournalTest, ReferencesThatNobodyWroteAreReleasedAtTheEnd) {
  open();
  Value value{std::string(9'000, 'y')};
  round(0, [&] { put_apart(0, "key", value); });
  journal.reset();
  EXPECT_EQ(value.releases, 1);
}

TEST_F(JournalTest, ShortWritesAreContinued) {
  open();
  disk.most_written = 1000;
  Value value{std::string(50'000, 'x')};
  round(0, [&] { put_apart(0, "key", value); });
  settle();
  EXPECT_EQ(read_groups(disk).at(0).puts.at(0).value, value.bytes);
  journal.reset();  // it refers to the value
}

TEST_F(JournalTest, BuffersAreUsedAgainAndCountedAsMemory) {
  open();
  for (int i = 0; i < 1000; ++i) {
    round(0, [&] { put(0, "key", std::string(1000, 'v')); });
    settle();
  }
  EXPECT_LE(budget.category_bytes(runtime::memory_category::buffers), 2 * RecordChunk::kBytes);
  journal.reset();
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), 0U);
}

TEST_F(JournalTest, OldSegmentsGoAndTheirFilesAreUsedAgain) {
  open();
  fill(40);
  const std::uint64_t epoch = journal->epochs().durable();
  const std::size_t files = disk.files.size();
  journal->truncate(epoch);
  settle();
  EXPECT_LT(journal->segments().segments(), 3U);
  EXPECT_LT(disk.files.size(), files);
  const std::uint64_t first = read_segments(disk).front().header.number;
  fill(12);
  const std::vector<ReadGroup> groups = read_groups(disk);
  EXPECT_EQ(groups.back().epoch, journal->epochs().durable()) << "what the files held before does not count";
  EXPECT_GE(groups.front().segment, first);
  for (const ReadGroup& group : groups) {
    EXPECT_EQ(group.puts.size(), 1U);
  }
}

TEST_F(JournalTest, HistoryIsKeptUpToItsBytesAndTheOldestGoesFirst) {
  options.writer.history_bytes = 3 * kSegmentBytes;
  open();
  fill(60);
  const std::uint64_t segments = journal->segments().segments();
  journal->truncate(journal->epochs().durable());
  settle();
  EXPECT_LE(journal->segments().total_bytes() - journal->segments().needed_bytes(), 3 * kSegmentBytes);
  EXPECT_GT(journal->segments().total_bytes() - journal->segments().needed_bytes(), kSegmentBytes);
  EXPECT_LT(journal->segments().segments(), segments);
  const std::vector<ReadGroup> groups = read_groups(disk);
  EXPECT_EQ(groups.back().epoch, 60U);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    EXPECT_EQ(groups[i].epoch, groups[i - 1].epoch + 1);
  }
  journal->set_history_bytes(0);
  settle();
  EXPECT_EQ(journal->segments().total_bytes(), journal->segments().needed_bytes());
}

TEST_F(JournalTest, HistoryGoesBeforeTheJournalReachesItsLimit) {
  options.writer.history_bytes = 100 * kSegmentBytes;
  options.writer.most_bytes = 8 * kSegmentBytes;
  open();
  for (int i = 0; i < 20; ++i) {
    fill(6);
    journal->truncate(journal->epochs().durable());
    settle();
    EXPECT_EQ(journal->writer().state(), journal_state::running);
    EXPECT_LE(journal->segments().total_bytes(), 8 * kSegmentBytes);
  }
  EXPECT_GT(journal->segments().segments(), 4U) << "there is history as far as it fits";
  fill(80);
  EXPECT_EQ(journal->writer().state(), journal_state::refusing) << "what a checkpoint needs counts";
  EXPECT_EQ(journal->segments().total_bytes(), journal->segments().needed_bytes());
}

TEST_F(JournalTest, OldContentsOfAFileNeverPassForItsNewSegment) {
  open();
  fill(12);
  journal->truncate(journal->epochs().durable());
  settle();
  // One group in a file that was full of them: the first spare was made ahead, the second one is used again.
  const std::uint64_t current = journal->segments().current();
  while (journal->segments().current() < current + 2) {
    fill(1);
  }
  const ReadSegment last = read_segments(disk).back();
  EXPECT_EQ(last.groups.size(), 1U);
  const std::string& bytes = disk.at("journal/" + segment_name(last.header.number));
  const std::uint64_t behind = kPageBytes + last.groups[0].commit.group_bytes;
  EXPECT_NE(bytes.find("MXB1", behind), std::string::npos) << "nothing old stands there: this proves nothing";
}

TEST_F(JournalTest, SparesThatWereLeftAreRemovedAtTheStart) {
  disk.files["journal/spare-7"] = std::make_shared<std::string>("x");
  open();
  EXPECT_FALSE(disk.files.contains("journal/spare-7"));
}

TEST_F(JournalTest, ANewProcessGoesOnBehindTheOldOne) {
  open();
  fill(3);
  const std::vector<ReadSegment> before = read_segments(disk);
  journal.reset();
  options.first_epoch = 4;
  options.segments.next_number = before.back().header.number + 1;
  options.segments.chain = before.back().last_chain;
  options.segments.closed = {{before.back().header.number, 3, before.back().bytes}};
  open();
  fill(1);
  const std::vector<ReadGroup> groups = read_groups(disk);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[3].epoch, 4U);
  journal->truncate(4);
  settle();
  EXPECT_EQ(read_groups(disk).size(), 1U);
}

TEST_F(JournalTest, ACleanEndFlushesWhateverTheMode) {
  options.writer.mode.sync = config::sync_mode::never;
  open();
  round(0, [&] { put(0, "key", "value"); });
  static_cast<void>(journal->begin_round(worker(1), 5));
  put(1, "open", "round");
  EXPECT_TRUE(journal->flush_all_now());
  EXPECT_THAT(read_groups(disk).at(0).keys(), ElementsAre("key", "open"));
  EXPECT_GT(disk.syncs, 0U);
}

TEST_F(JournalTest, AnEndedEpochIsPassedWhenItsRecordsAreThere) {
  open();
  const std::uint64_t epoch = journal->end_epoch();
  settle();
  EXPECT_EQ(journal->writer().passed(), epoch);
  EXPECT_EQ(journal->epochs().current(), epoch + 1);
  EXPECT_THAT(read_groups(disk).at(0).keys(), IsEmpty()) << "an epoch without records has a group too";
}

}  // namespace
}  // namespace mxkv::server::test

// A journal is read behind its writer: each durable epoch once and in order, or the reader hears that it is gone.
#include "server/feed/journal_tail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/unit/server/journal/journal_world.hpp"

namespace mxkv::server::test {
namespace {

using outcome = ChangeSource::outcome;

constexpr std::uint64_t kTag = 0x7A6;
constexpr std::uint64_t kEarlier = 0xEA;

struct JournalTailTest : ::testing::Test, JournalWorld {
  /// A reader, with this process's tag and earlier ones.
  std::unique_ptr<JournalTail> tail_of(Lineage lineage = {}) {
    lineage.begin(kTag, options.first_epoch);
    return std::make_unique<JournalTail>(
        disk, TailOptions{.lineage = std::move(lineage),
                          .durable = [this] { return journal->epochs().durable(); },
                          .closed = [this] { return journal->epochs().current() - 1; }});
  }
  /// A group of one record.
  void commit(std::string_view key, std::size_t bytes = 8) {
    round(0, [&] { put(0, key, std::string(bytes, 'v')); });
    settle();
  }
  /// All that the tail tells now: "3: a b/1 c/1; 4: d; none".
  static std::string told_by(JournalTail& tail) {
    std::string told;
    for (ChangeEpoch epoch;;) {
      switch (tail.next(epoch)) {
        case outcome::none:
          return told + "none";
        case outcome::old:
          return told + "old";
        case outcome::epoch:
          break;
      }
      told += std::to_string(epoch.number) + ":";
      for (const ChangeRecord& change : epoch.records) {
        told += " " + std::string{std::get<PutRecord>(change.record).key};
        told += change.batch != 0 ? "/" + std::to_string(change.batch) : "";
      }
      told += "; ";
    }
  }
  /// The epochs told, or the word at the end: "3 to 40, none".
  static std::string told_in_short(JournalTail& tail) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    ChangeEpoch epoch;
    outcome end = tail.next(epoch);
    for (; end == outcome::epoch; end = tail.next(epoch)) {
      EXPECT_TRUE(last == 0 || epoch.number == last + 1);
      first = first == 0 ? epoch.number : first;
      last = epoch.number;
    }
    return std::to_string(first) + " to " + std::to_string(last) + (end == outcome::old ? ", old" : ", none");
  }
  std::string& bytes_of(std::uint64_t segment) { return *disk.files.at("journal/" + segment_name(segment)); }
};

TEST_F(JournalTailTest, TellsEachDurableEpochOnceWithItsBatches) {
  open();
  const auto tail = tail_of();
  EXPECT_EQ(told_by(*tail), "none");
  round(0, [&] {
    put(0, "a", "");
    journal->buffer(worker(0)).begin_group();
    put(0, "b", "");
    put(0, "c", "");
    journal->buffer(worker(0)).end_group();
  });
  EXPECT_EQ(told_by(*tail), "none") << "it is not durable";
  settle();
  EXPECT_EQ(told_by(*tail), "1: a b/1 c/1; none");
  commit("d");
  commit("e");
  EXPECT_EQ(told_by(*tail), "2: d; 3: e; none");
  EXPECT_EQ(tail->through(), 3U);
}

TEST_F(JournalTailTest, AValueApartComesInOnePiece) {
  open();
  const auto tail = tail_of();
  Value value{std::string(20'000'000, 'x')};
  round(0, [&] { put_apart(0, "large", value); });
  settle();
  ChangeEpoch epoch;
  ASSERT_EQ(tail->next(epoch), outcome::epoch);
  ASSERT_EQ(epoch.records.size(), 1U);
  EXPECT_TRUE(epoch.records[0].apart == value.bytes);
  journal.reset();  // it refers to the value
}

TEST_F(JournalTailTest, GoesOnOverSegments) {
  open();
  const auto tail = tail_of();
  fill(5);
  EXPECT_EQ(told_in_short(*tail), "1 to 5, none");
  fill(60);
  EXPECT_GT(journal->segments().segments(), 5U);
  EXPECT_EQ(told_in_short(*tail), "6 to 65, none");
}

TEST_F(JournalTailTest, PositionsThatTakeTurnsAtOneReaderHearEachEpochOnce) {
  open();
  const auto tail = tail_of();
  fill(60);
  ASSERT_GT(journal->segments().segments(), 5U);
  std::vector<std::uint64_t> told{0, 7, 30, 59};
  ChangeEpoch epoch;
  while (std::ranges::min(told) < 60) {
    for (std::uint64_t& position : told) {
      ASSERT_EQ(tail->seek({kTag, position}), position_state::ok);
      for (int turn = 0; turn < 4 && position < 60; ++turn) {
        ASSERT_EQ(tail->next(epoch), outcome::epoch);
        ASSERT_EQ(epoch.number, ++position);
      }
    }
  }
  EXPECT_EQ(tail->seek_end(), 60U);
  EXPECT_EQ(told_by(*tail), "none");
}

TEST_F(JournalTailTest, EpochsWithoutRecordsAreNotTold) {
  open();
  const auto tail = tail_of();
  commit("a");
  journal->need(journal->epochs().current());
  settle();
  commit("c");
  EXPECT_EQ(told_by(*tail), "1: a; 3: c; none");
}

TEST_F(JournalTailTest, ReadsAgainWhatItReadBeforeItWasWritten) {
  open();
  const auto tail = tail_of();
  for (int i = 0; i < 8; ++i) {  // each read takes more than a group
    commit("a");
    EXPECT_EQ(told_in_short(*tail), std::to_string(i + 1) + " to " + std::to_string(i + 1) + ", none");
  }
}

TEST_F(JournalTailTest, SeekGoesBehindAnyEpochThatIsThere) {
  open();
  fill(40);
  const auto tail = tail_of();
  EXPECT_EQ(told_by(*tail), "none") << "it begins with what comes";
  EXPECT_EQ(tail->oldest(), (Position{kTag, 0}));
  for (const std::uint64_t epoch : {0U, 17U, 39U, 40U, 1U}) {
    ASSERT_EQ(tail->seek({kTag, epoch}), position_state::ok);
    EXPECT_EQ(told_in_short(*tail),
              epoch == 40 ? "0 to 0, none" : std::to_string(epoch + 1) + " to 40, none");
  }
}

TEST_F(JournalTailTest, SeekRefusesPositionsOfOtherHistoriesAndStandsWhereItStood) {
  options.first_epoch = 10;
  options.segments.next_number = 3;
  open();
  fill(3);
  Lineage lineage;
  lineage.begin(kEarlier, 1);
  const auto tail = tail_of(lineage);
  ASSERT_EQ(tail->seek({kTag, 11}), position_state::ok);
  EXPECT_EQ(tail->seek({0xBAD, 11}), position_state::lost);
  EXPECT_EQ(tail->seek({kEarlier, 10}), position_state::lost) << "that process lost its epoch 10";
  EXPECT_EQ(tail->seek({kTag, 99}), position_state::lost);
  EXPECT_EQ(tail->seek({kTag, 3}), position_state::old);
  EXPECT_EQ(tail->seek({kEarlier, 3}), position_state::old);
  EXPECT_EQ(told_in_short(*tail), "12 to 12, none");
  ASSERT_EQ(tail->seek({kEarlier, 9}), position_state::ok);
  EXPECT_EQ(told_in_short(*tail), "10 to 12, none");
}

TEST_F(JournalTailTest, WhatATruncationRemovedIsOld) {
  open();
  fill(40);
  const auto tail = tail_of();
  ASSERT_EQ(tail->seek({kTag, 2}), position_state::ok);
  journal->truncate(30);
  settle();
  EXPECT_EQ(told_by(*tail), "old");
  EXPECT_THAT(tail->why(), ::testing::HasSubstr("epoch 3"));
  EXPECT_EQ(tail->seek({kTag, 2}), position_state::old);
  const Position oldest = tail->oldest();
  EXPECT_LT(oldest.epoch, 30U);
  ASSERT_EQ(tail->seek(oldest), position_state::ok);
  EXPECT_EQ(told_in_short(*tail), std::to_string(oldest.epoch + 1) + " to 40, none");
}

TEST_F(JournalTailTest, ASegmentMayBeRecycledUnderItsReader) {
  open();
  fill(30);
  const auto tail = tail_of();
  ASSERT_EQ(tail->seek({kTag, 0}), position_state::ok);
  ChangeEpoch epoch;
  ASSERT_EQ(tail->next(epoch), outcome::epoch);
  journal->truncate(journal->epochs().durable());
  settle();
  const std::uint64_t current = journal->segments().current();
  while (journal->segments().current() < current + 4) {
    fill(1);
  }
  // The tail may tell the rest of the old contents, but none of the new ones.
  std::uint64_t last = 1;
  outcome end = tail->next(epoch);
  for (; end == outcome::epoch; end = tail->next(epoch)) {
    ASSERT_EQ(epoch.number, ++last);
  }
  EXPECT_EQ(end, outcome::old);
  EXPECT_LT(last, 30U);
}

TEST_F(JournalTailTest, AHoleIsNeverPassedOver) {
  open();
  fill(40);
  std::string& bytes = bytes_of(3);
  for (const std::size_t at : {kPageBytes + 20, kPageBytes + kCommitBlockBytes + 100, std::size_t{20}}) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    const auto tail = tail_of();  // one that has read the header before needs no other one
    ASSERT_EQ(tail->seek({kTag, 0}), position_state::ok);
    const std::string told = told_in_short(*tail);
    EXPECT_THAT(told, ::testing::StartsWith("1 to ")) << at;
    EXPECT_THAT(told, ::testing::EndsWith(", old")) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
  }
  disk.files.erase("journal/" + segment_name(3));
  const auto tail = tail_of();
  ASSERT_EQ(tail->seek({kTag, 0}), position_state::ok);
  EXPECT_THAT(told_in_short(*tail), ::testing::EndsWith(", old"));
}

TEST_F(JournalTailTest, AFailedWriteEndsTheHistoryBeforeIt) {
  open();
  const auto tail = tail_of();
  commit("a");
  disk.write_error = EIO;
  commit("lost");
  EXPECT_EQ(told_by(*tail), "1: a; none");
  commit("b");
  EXPECT_EQ(told_by(*tail), "none") << "nothing counts before a checkpoint";
  journal->rebased(journal->writer().gap_end());
  settle();
  commit("c");
  EXPECT_EQ(told_by(*tail), "old");
  EXPECT_EQ(tail->seek({kTag, 1}), position_state::old);
  const Position oldest = tail->oldest();
  EXPECT_EQ(oldest.epoch, 2U);
  ASSERT_EQ(tail->seek(oldest), position_state::ok);
  EXPECT_THAT(told_by(*tail), ::testing::StartsWith("3: b; "));
}

TEST_F(JournalTailTest, SegmentsWithoutMarksOfBatchesAreOld) {
  options.first_epoch = 3;
  options.segments.next_number = 2;
  SegmentHeader header;
  header.number = 1;
  header.first_epoch = 1;
  header.format = 1;
  std::string page(kPageBytes, '\0');
  write_segment_header(page.data(), header);
  disk.files["journal/" + segment_name(1)] = std::make_shared<std::string>(page);
  open();
  commit("a");
  Lineage lineage;
  lineage.begin(kEarlier, 1);
  const auto tail = tail_of(lineage);
  EXPECT_EQ(tail->oldest(), (Position{kTag, 2}));
  EXPECT_EQ(tail->seek({kEarlier, 1}), position_state::old);
  ASSERT_EQ(tail->seek({kEarlier, 2}), position_state::ok);
  EXPECT_EQ(told_by(*tail), "3: a; none");
}

// Groups of an earlier process that its start cut never count, also while this process has no segment of its own.
TEST_F(JournalTailTest, GroupsThatAStartCutAreNotTold) {
  open();
  commit("a");
  commit("cut");
  const std::uint64_t bytes = journal->segments().total_bytes();
  options.segments.chain = read_segments(disk).at(0).groups.at(0).commit.chain;
  journal.reset();
  options.first_epoch = 2;
  options.segments.next_number = 2;
  options.segments.closed = {{1, 1, bytes}};
  Lineage lineage;
  lineage.begin(kEarlier, 1);
  make();
  const auto tail = tail_of(lineage);
  ASSERT_EQ(tail->seek({kEarlier, 0}), position_state::ok);
  EXPECT_EQ(told_by(*tail), "1: a; none");
  EXPECT_EQ(tail->seek({kEarlier, 2}), position_state::lost);
  EXPECT_EQ(journal->open(), "");
  commit("new");
  EXPECT_EQ(told_by(*tail), "2: new; none");
}

TEST_F(JournalTailTest, HistoryStaysBehindACheckpoint) {
  options.writer.history_bytes = 4 * kSegmentBytes;
  open();
  fill(60);
  const auto tail = tail_of();
  journal->truncate(55);
  settle();
  const Position oldest = tail->oldest();
  EXPECT_GT(oldest.epoch, 0U);
  EXPECT_LT(oldest.epoch, 40U);
  ASSERT_EQ(tail->seek(oldest), position_state::ok);
  EXPECT_EQ(told_in_short(*tail), std::to_string(oldest.epoch + 1) + " to 60, none");
  EXPECT_LT(journal->segments().needed_bytes() + 3 * kSegmentBytes, journal->segments().total_bytes());
}

}  // namespace
}  // namespace mxkv::server::test

// Written records are read again; other bytes are refused, and nothing outside of the payload is read.
#include "server/commit/record_reader.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/journal/journal_builder.hpp"

namespace mxkv::server::test {
namespace {

std::vector<Record> some_of_each() {
  return {PutRecord{.order = 1, .key = "key", .value = "value"},
          PutRecord{.order = 2, .key = "", .value = ""},
          PutRecord{.order = kMostOrder,
                    .key = "k",
                    .value = "v",
                    .cas = 77,
                    .flags = 1,
                    .expiry = 2,
                    .access = 2047,
                    .marks = 7,
                    .has_cas = true},
          GoneRecord{3, "gone", gone_reason::evicted},
          GoneRecord{4, "deleted", gone_reason::deleted},
          TouchRecord{5, "touched", 0},
          TouchRecord{.order = 5, .key = "read", .expiry = 6, .access = 2047},
          RangeGoneRecord{6, {.from = "a", .to = "b", .from_is_open = true, .to_is_open = true}, 12},
          RangeTouchRecord{7, {.from = "", .to = "", .has_no_end = true}, 12, 13, 14},
          FlushRecord{8},
          FlushAtRecord{9, 10, 11},
          PutRecord{.order = 12, .key = "large", .apart_bytes = 100'000, .expiry = 1}};
}

TEST(RecordReader, ReadsItsOwnBytes) {
  const std::vector<Record> records = some_of_each();
  const std::string payload = payload_of(records);
  RecordReader reader(payload);
  for (const Record& record : records) {
    EXPECT_EQ(reader.next(), record);
  }
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.wrong(), nullptr);
  EXPECT_EQ(reader.position(), payload.size());
}

// The versions before reads were counted wrote an age alone, in steps of 2^20 us.
TEST(RecordReader, AnOlderCodeOfAnItemThatWasReadCountsAsOneRead) {
  for (const auto& [older, age_us] :
       {std::pair{0, 0.0}, {1, 0.0}, {61, 62.9e6}, {1000, 15.57e9}, {2047, 4.38e12}}) {
    std::string payload = payload_of({TouchRecord{.order = 5, .key = "read", .access = 2047},
                                      PutRecord{.order = 5, .key = "k", .value = "v", .access = 1}});
    payload[1] = static_cast<char>(older);
    payload[3] = static_cast<char>(older >> 8);
    const std::size_t put = kRecordHeaderBytes + 4 + 4;
    payload[put + 1] = 0;
    store_number(payload.data() + put + 4, 5 | std::uint64_t(older) << kOrderBits);
    RecordReader reader(payload);
    const auto touch = reader.next();
    ASSERT_TRUE(touch);
    const std::uint32_t code = std::get<TouchRecord>(*touch).access;
    EXPECT_EQ(access_code::reads(code), older == 0 ? 0U : 1U);
    EXPECT_EQ(access_code::accessed(code), older != 0);
    EXPECT_NEAR(static_cast<double>(access_code::age_us(code)), age_us, age_us / 16 + 300'000);
    const auto read = reader.next();
    ASSERT_TRUE(read);
    EXPECT_EQ(std::get<PutRecord>(*read).access, code);
    EXPECT_EQ(std::get<PutRecord>(*read).order, 5U);
  }
}

TEST(RecordReader, TellsWhereBatchesBeginAndEnd) {
  const std::string payload = payload_of({FlushRecord{1}}) + batch_of({FlushRecord{2}, GoneRecord{3, "k"}}) +
                              batch_of({FlushRecord{4}}) + payload_of({FlushRecord{5}}) +
                              mark_text(batch_mark::begin);
  BatchMarks marks;
  RecordReader reader(payload, &marks);
  std::string seen;
  while (const auto record = reader.next()) {
    seen += (marks.open ? std::to_string(marks.batches) : "-") + " " +
            std::to_string(reader.position() - reader.begin()) + "; ";
  }
  EXPECT_EQ(seen, "- 12; 1 12; 1 13; 2 12; - 12; ");
  EXPECT_EQ(reader.wrong(), nullptr);
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(marks.open) << "the batch goes on in the next block";
}

TEST(RecordReader, RefusesMarksThatNoWriterMakes) {
  const auto wrong = [](const std::string& payload) -> std::string {
    BatchMarks marks;
    RecordReader reader(payload, &marks);
    while (reader.next()) {
    }
    return reader.wrong() == nullptr ? "" : reader.wrong();
  };
  const std::string begin = mark_text(batch_mark::begin);
  const std::string end = mark_text(batch_mark::end);
  EXPECT_EQ(wrong(begin + end + begin), "");
  EXPECT_EQ(wrong(begin + begin), "a batch begins within another");
  EXPECT_EQ(wrong(end), "a batch ends that did not begin");
  EXPECT_EQ(wrong(begin.substr(0, 11)), "a record is cut off");
  for (std::size_t byte = 1; byte < begin.size(); ++byte) {
    std::string changed = begin;
    changed[byte] = 1;
    EXPECT_EQ(wrong(changed), "a mark of a batch has unknown bits");
  }
}

TEST(RecordReader, SaysAtWhichByteAPayloadIsCut) {
  const std::vector<Record> records = some_of_each();
  const std::string payload = payload_of(records);
  for (std::size_t length = 0; length <= payload.size(); ++length) {
    // A copy of just that length, so that a sanitizer sees a read behind it.
    const auto cut = std::make_unique<char[]>(length);
    payload.copy(cut.get(), length);
    RecordReader reader({cut.get(), length});
    std::size_t read = 0;
    std::size_t end = 0;
    while (const auto record = reader.next()) {
      ASSERT_LT(read, records.size());
      EXPECT_EQ(*record, records[read++]);
      end = reader.position();
    }
    EXPECT_EQ(reader.position(), end);
    EXPECT_EQ(reader.wrong() == nullptr, end == length) << length;
    EXPECT_EQ(reader.next(), std::nullopt) << "what is wrong stays so";
  }
}

TEST(RecordReader, RefusesUnknownTypes) {
  const auto complaint = [](std::size_t at, char byte) {
    std::string payload = payload_of({FlushRecord{1}, PutRecord{.order = 2, .key = "k", .value = "v"}});
    payload[at] = byte;
    RecordReader reader(payload);
    while (reader.next()) {
    }
    EXPECT_EQ(reader.position(), at < kRecordHeaderBytes ? 0 : kRecordHeaderBytes);
    return std::string{reader.wrong() == nullptr ? "" : reader.wrong()};
  };
  EXPECT_EQ(complaint(0, 0), "a record is of an unknown type");
  EXPECT_EQ(complaint(0, 10), "a record is of an unknown type");
  EXPECT_EQ(complaint(11, 0x20), "a record's order has more than 53 bits");
  EXPECT_EQ(complaint(13, 0x20), "a record has unknown bits");
  EXPECT_EQ(complaint(14, 3), "a record is cut off");
}

TEST(RecordReader, EndsWithAnyBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t length = random() % 100;
    const auto bytes = std::make_unique<char[]>(length);
    for (std::size_t i = 0; i < length; ++i) {
      bytes[i] = static_cast<char>(random() % 3 == 0 ? random() : random() % 9);
    }
    RecordReader reader({bytes.get(), length});
    std::size_t before = 0;
    while (reader.next()) {
      ASSERT_GT(reader.position(), before) << "each record takes bytes";
      before = reader.position();
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test

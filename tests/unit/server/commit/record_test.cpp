// Records are as long as they say, and follow the format byte for byte.
#include "server/commit/record.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server::test {
namespace {

using std::string_literals::operator""s;

template <class T>
std::string written(const T& record) {
  std::string bytes(encoded_bytes(record) + 1, '#');
  const char* const end = write_record(bytes.data(), record);
  EXPECT_EQ(end, bytes.data() + bytes.size() - 1) << "a record is as long as it says";
  EXPECT_EQ(bytes.back(), '#');
  bytes.pop_back();
  return bytes;
}

TEST(Record, APutOfAShortKeyTakes16BytesBesidesKeyAndValue) {
  const std::string key(24, 'k');
  const std::string value(100, 'v');
  EXPECT_EQ(written(PutRecord{.order = 1, .key = key, .value = value}).size(), 140U);
}

TEST(Record, IsWrittenAsTheFormatSays) {
  EXPECT_EQ(written(PutRecord{.order = 0x0102030405, .key = "ab", .value = "xyz"}),
            "\x01\x00\x02\x00\x05\x04\x03\x02\x01\x00\x00\x00\x03\x00\x00\x00"s + "abxyz");
  EXPECT_EQ(written(PutRecord{.order = 1,
                              .key = "k",
                              .value = "v",
                              .cas = 9,
                              .flags = 7,
                              .expiry = 8,
                              .access = 0x7FF,
                              .marks = 5,
                              .has_cas = true}),
            "\x01\x17\x01\x05\x01\x00\x00\x00\x00\x00\xE0\xFF"s +
                "\x01\x00\x00\x00\x07\x00\x00\x00\x08\x00\x00\x00"s + "\x09\x00\x00\x00\x00\x00\x00\x00kv"s);
  EXPECT_EQ(written(PutRecord{.order = 1, .key = "k", .apart_bytes = 0x01'0000'0000}),
            "\x01\x08\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00k"s);
  EXPECT_EQ(written(GoneRecord{2, "key", gone_reason::evicted}),
            "\x02\x01\x03\x00\x02\x00\x00\x00\x00\x00\x00\x00key"s);
  EXPECT_EQ(written(TouchRecord{3, "key", 4}),
            "\x03\x00\x03\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00key"s);
  EXPECT_EQ(written(TouchRecord{.order = 3, .key = "key", .expiry = 4, .access = 0x7A5}),
            "\x03\xA5\x03\x0F\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00key"s);
  EXPECT_EQ(written(RangeGoneRecord{4, {.from = "a", .to = "bc", .to_is_open = true}, 6}),
            "\x04\x02\x01\x02\x04\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"s + "abc");
  EXPECT_EQ(written(RangeTouchRecord{5, {.from = "a", .from_is_open = true, .has_no_end = true}, 6, 7, 8}),
            "\x05\x05\x01\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"s +
                "\x08\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00"s + "a");
  EXPECT_EQ(written(FlushRecord{6}), "\x06\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"s);
  EXPECT_EQ(written(FlushAtRecord{7, 8, 9}),
            "\x07\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00"s +
                "\x09\x00\x00\x00\x00\x00\x00\x00"s);
}

TEST(Record, NoneIsLongerThanTheMost) {
  const std::string key(kMostKeyBytes, 'k');
  const std::string value(kMostInlineBytes, 'v');
  EXPECT_LE(encoded_bytes(PutRecord{.order = kMostOrder,
                                    .key = key,
                                    .value = value,
                                    .cas = 1,
                                    .flags = 1,
                                    .expiry = 1,
                                    .marks = 7,
                                    .has_cas = true}),
            most_bytes());
  EXPECT_LE(encoded_bytes(PutRecord{.key = key, .apart_bytes = 1, .flags = 1, .expiry = 1, .has_cas = true}),
            most_bytes(0));
  EXPECT_LE(encoded_bytes(RangeTouchRecord{.bounds = {.from = key, .to = key}}), most_bytes(0));
}

}  // namespace
}  // namespace mxkv::server::test

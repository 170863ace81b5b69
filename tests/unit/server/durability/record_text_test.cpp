// Records as lines: every field of a record is shown, and no byte of a key or value breaks a line.
#include "server/durability/record_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server::test {
namespace {

TEST(RecordText, APutShowsItsParts) {
  EXPECT_EQ(record_text(PutRecord{.order = 7, .key = "a", .value = "xyz"}),
            R"(put order=7 key="a" bytes=3 value="xyz")");
  EXPECT_EQ(record_text(PutRecord{.order = 8,
                                  .key = "b",
                                  .value = "",
                                  .cas = 77,
                                  .flags = 1,
                                  .expiry = 1'795'355'467,
                                  .access = 9,
                                  .marks = 7,
                                  .has_cas = true}),
            R"(put order=8 key="b" bytes=0 value="" flags=1 expiry=2026-11-22T13:51:07Z cas=77 access=9 )"
            "stale won binary");
}

TEST(RecordText, LargeValuesAreNotPrinted) {
  const std::string value(65, 'v');
  EXPECT_EQ(record_text(PutRecord{.order = 7, .key = "a", .value = value}),
            R"(put order=7 key="a" bytes=65)");
  EXPECT_EQ(record_text(PutRecord{.order = 7, .key = "a", .apart_bytes = 100'000}),
            R"(put order=7 key="a" bytes=100000)");
}

TEST(RecordText, OtherTypesShowTheirParts) {
  EXPECT_EQ(record_text(GoneRecord{3, "k", gone_reason::evicted}), R"(gone order=3 key="k" evicted)");
  EXPECT_EQ(record_text(GoneRecord{3, "k", gone_reason::deleted}), R"(gone order=3 key="k" deleted)");
  EXPECT_EQ(record_text(TouchRecord{5, "k", 0}), R"(touch order=5 key="k" expiry=never)");
  EXPECT_EQ(record_text(TouchRecord{.order = 5, .key = "k", .access = 9}),
            R"(touch order=5 key="k" expiry=never access=9)");
  EXPECT_EQ(record_text(RangeGoneRecord{6, {.from = "a", .to = "b", .to_is_open = true}, 12}),
            R"(range_gone order=6 from=["a" to="b") items=12)");
  EXPECT_EQ(
      record_text(RangeTouchRecord{7, {.from = "a", .from_is_open = true, .has_no_end = true}, 1, 13, 1}),
      R"(range_touch order=7 from=("a" to=end items=1 expiry=1970-01-01T00:00:01Z moment_us=13)");
  EXPECT_EQ(record_text(FlushRecord{8}), "flush order=8");
  EXPECT_EQ(record_text(FlushAtRecord{9, 10, 11}), "flush_at order=9 point_us=10 now_us=11");
}

TEST(RecordText, NoByteOfAKeyBreaksTheLine) {
  EXPECT_EQ(quoted({"a\0\n\xff\"\\~ ", 8}), R"("a\x00\x0a\xff\"\\~ ")");
}

TEST(RecordText, TimesHaveMilliseconds) {
  EXPECT_EQ(utc_text(1'795'355'467'021'999), "2026-11-22 13:51:07.021 UTC");
}

}  // namespace
}  // namespace mxkv::server::test

// The lines of every record, in every form.
#include "server/feed/watch_lines.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000;  // second 1000

std::string line(const Record& record, const WatchForm& form = {}, std::string_view apart = {},
                 std::size_t value_bytes = 100) {
  std::string text;
  write_change(text, {.record = record, .apart = apart}, form, kNow, value_bytes);
  return text;
}

TEST(WatchLines, APutTellsTheKeyAlone) {
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .value = "xyz"}), "WP ka\r\n");
}

TEST(WatchLines, FlagsComeInTheOrderOfTheRequest) {
  const PutRecord put{.order = 7, .key = "a", .value = "xyz", .flags = 5, .expiry = 1060};
  EXPECT_EQ(line(put, {.shows = "tsfc"}), "WP ka t60 s3 f5 c7\r\n");
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .cas = 9, .has_cas = true}, {.shows = "ct"}),
            "WP ka c9 t-1\r\n");
}

TEST(WatchLines, AValueFollowsItsLine) {
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .value = "x\r\nz"}, {.shows = "c", .values = true}),
            "WV 4 ka c7\r\nx\r\nz\r\n");
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .apart_bytes = 3}, {.values = true}, "abc"),
            "WV 3 ka\r\nabc\r\n");
}

TEST(WatchLines, ALargeValueIsLeftOut) {
  const PutRecord put{.order = 7, .key = "a", .apart_bytes = 101};
  EXPECT_EQ(line(put, {.values = true}), "WP ka s101\r\n");
  EXPECT_EQ(line(put, {.shows = "s", .values = true}), "WP ka s101\r\n");
}

TEST(WatchLines, AStalePutSaysSo) {
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .marks = 1}), "WP ka X\r\n");
  EXPECT_EQ(line(PutRecord{.order = 7, .key = "a", .marks = 4}), "WP ka\r\n");
}

TEST(WatchLines, AKeyThatALineCannotCarryComesInBase64) {
  EXPECT_EQ(line(PutRecord{.order = 7, .key = std::string_view{"\0\1", 2}}, {.shows = "c"}),
            "WP kAAE= b c7\r\n");
  EXPECT_EQ(line(GoneRecord{.order = 7, .key = "a"}, {.base64 = true}), "WG kYQ== b Rd\r\n");
}

TEST(WatchLines, AKeyThatWentSaysWhy) {
  EXPECT_EQ(line(GoneRecord{.order = 7, .key = "a"}), "WG ka Rd\r\n");
  EXPECT_EQ(line(GoneRecord{.order = 7, .key = "a", .reason = gone_reason::evicted}), "WG ka Re\r\n");
}

TEST(WatchLines, ATouchTellsTheTimeToLive) {
  EXPECT_EQ(line(TouchRecord{.order = 7, .key = "a", .expiry = 1005}), "WT ka t5\r\n");
  EXPECT_EQ(line(TouchRecord{.order = 7, .key = "a", .expiry = 0}), "WT ka t-1\r\n");
  EXPECT_EQ(line(TouchRecord{.order = 7, .key = "a", .expiry = 900}), "WT ka t0\r\n");
}

TEST(WatchLines, ARangeIsCutToTheWatch) {
  const RangeGoneRecord gone{.order = 7, .bounds = {.from = "a", .to = "z"}};
  EXPECT_EQ(line(gone), "WX ka Hz i Rd\r\n");
  EXPECT_EQ(line(gone, {.span = span_of_prefix("user:")}), "WX kuser: Huser; Rd\r\n");
  const RangeGoneRecord open{.order = 7, .bounds = {.from = "b", .from_is_open = true, .has_no_end = true}};
  EXPECT_EQ(line(open), "WX kb o Rd\r\n");
  EXPECT_EQ(line(RangeTouchRecord{
                .order = 7, .bounds = {.from = "b", .to = "c", .to_is_open = true}, .expiry = 1001}),
            "WY kb Hc t1\r\n");
}

TEST(WatchLines, AFlushIsARangeOfAllKeys) {
  EXPECT_EQ(line(FlushRecord{.order = 7}), "WX k Rf\r\n");
  EXPECT_EQ(line(FlushAtRecord{.order = 7, .point_us = 1'010'000'000, .now_us = kNow}), "WX k Rf t10\r\n");
  EXPECT_EQ(line(FlushRecord{.order = 7}, {.span = {.low = "b", .high = "d", .endless = false}}),
            "WX kb Hd Rf\r\n");
}

TEST(WatchLines, ABoundThatALineCannotCarryMakesBothBase64) {
  const RangeGoneRecord gone{.order = 7, .bounds = {.from = "a", .to = "\x01 "}};
  EXPECT_EQ(line(gone), "WX kYQ== HASA= b i Rd\r\n");
}

TEST(WatchLines, KindsAreBits) {
  EXPECT_EQ(kind_of(PutRecord{}), told::kPut);
  EXPECT_EQ(kind_of(GoneRecord{.reason = gone_reason::evicted}), told::kEvicted);
  EXPECT_EQ(kind_of(GoneRecord{}), told::kDeleted);
  EXPECT_EQ(kind_of(RangeGoneRecord{}), told::kDeleted);
  EXPECT_EQ(kind_of(FlushRecord{}), told::kDeleted);
  EXPECT_EQ(kind_of(TouchRecord{}), told::kTouched);
  EXPECT_EQ(kind_of(RangeTouchRecord{}), told::kTouched);
}

}  // namespace
}  // namespace mxkv::server

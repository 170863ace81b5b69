// mw and mu: ranges, names, kinds, positions, every error line.
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(MetaWatch, ARangeAndAName) {
  const ParsedLine line("mw a Hc i Ow1\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::meta_watch);
  expect_bound(line.range().low, "a", true);
  expect_bound(line.range().high, "c", true);
  EXPECT_EQ(line->meta.opaque(), "w1");
  EXPECT_EQ(line->setting, "");
  EXPECT_EQ(line->watched, 0U);
  EXPECT_FALSE(line->meta.value);
}

TEST(MetaWatch, APrefixAndTheWholeRange) {
  const ParsedLine prefix("mw user: p O1\r\n");
  ASSERT_TRUE(prefix.accepted());
  EXPECT_TRUE(prefix.range().by_prefix);
  EXPECT_EQ(prefix.range().prefix, "user:");
  const ParsedLine all("mw - O1\r\n");
  EXPECT_TRUE(all.range().low.unbounded);
  EXPECT_TRUE(all.range().high.unbounded);
}

TEST(MetaWatch, FlagsKindsAndPosition) {
  const ParsedLine line("mw - O1 t c v Mpd G0123456789abcdef.7\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->meta.wants(), "Otc");
  EXPECT_TRUE(line->meta.value);
  EXPECT_EQ(line->watched, 3U);
  EXPECT_EQ(line->setting, "0123456789abcdef.7");
  EXPECT_EQ(ParsedLine("mw - O1 Mtxe\r\n")->watched, 4U | 8U | 16U);
}

TEST(MetaWatch, BoundsInBase64) {
  const ParsedLine line("mw AAE= b O1\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().base64);
  expect_bound(line.range().low, std::string_view("\0\1", 2), true);
}

TEST(MetaWatch, Errors) {
  expect_refused("mw", kBadFormat);
  expect_refused("mw -", kWatchNeedsName);
  expect_refused("mw - O", kWatchNeedsName);
  expect_refused("mw - O1 O2", kDuplicateFlag);
  expect_refused("mw - O" + std::string(32, 'x'), kLongOpaque);
  expect_refused("mw - O1 S", kNoWatchState);
  expect_refused("mw - O1 G", kBadPosition);
  expect_refused("mw - O1 M", kBadToken);
  expect_refused("mw - O1 Mpp", kBadToken);
  expect_refused("mw - O1 Mq", kBadToken);
  expect_refused("mw a p Hb O1", kPrefixHasNoBound);
  for (const char* flag : {"A1", "B1", "U1", "r", "X", "q", "k", "l", "h", "P", "L", "R", "T1", "m1"}) {
    expect_refused(std::string("mw - O1 ") + flag, kInvalidFlag);
  }
}

TEST(MetaUnwatch, EndsAWatchOrAsksForAMark) {
  const ParsedLine end("mu Ow1\r\n");
  ASSERT_TRUE(end.accepted());
  EXPECT_EQ(end->op, verb::meta_unwatch);
  EXPECT_EQ(end->meta.opaque(), "w1");
  EXPECT_EQ(end->argument, "");
  const ParsedLine mark("mu Ow1 m42\r\n");
  ASSERT_TRUE(mark.accepted());
  EXPECT_EQ(mark->argument, "42");
}

TEST(MetaUnwatch, Errors) {
  expect_refused("mu", kUnwatchNeedsName);
  expect_refused("mu m1", kUnwatchNeedsName);
  expect_refused("mu O1 m", kBadToken);
  expect_refused("mu O1 m" + std::string(32, 'x'), kBadToken);
  expect_refused("mu O1 v", kInvalidFlag);
  expect_refused("mu O1 b", kInvalidFlag);
}

}  // namespace
}  // namespace mxkv::protocol

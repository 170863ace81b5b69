// scan, scans, pscan, pscans: every form of bound, every word, every error line.
#include <array>
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Ranges, StartAndCountGoesUpFromTheStart) {
  const ParsedLine line("scan user1 100\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::scan);
  expect_bound(line.range().low, "user1", true);
  EXPECT_TRUE(line.range().high.unbounded);
  EXPECT_EQ(line.range().limit, 100U);
  EXPECT_EQ(line.range().byte_limit, 0U);
  EXPECT_FALSE(line.range().by_prefix);
  EXPECT_FALSE(line.range().reverse);
  EXPECT_FALSE(line.range().keys_only);
  EXPECT_FALSE(line.range().with_cas);
  EXPECT_FALSE(line.range().want_cursor);
  EXPECT_FALSE(line.range().base64);
}

TEST(Ranges, SignsSayWhetherABoundIsInclusive) {
  const ParsedLine closed("scan [a [b 5\r\n");
  expect_bound(closed.range().low, "a", true);
  expect_bound(closed.range().high, "b", true);
  const ParsedLine open("scan (a (b 5\r\n");
  expect_bound(open.range().low, "a", false);
  expect_bound(open.range().high, "b", false);
  const ParsedLine bare("scan a (b 5\r\n");
  expect_bound(bare.range().low, "a", true);
  EXPECT_EQ(bare.range().limit, 5U);
}

TEST(Ranges, MinusAndPlusAreTheEnds) {
  const ParsedLine line("scan - + 5\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().low.unbounded);
  EXPECT_TRUE(line.range().high.unbounded);
  EXPECT_TRUE(ParsedLine("scan - 5\r\n").range().low.unbounded);
}

TEST(Ranges, KeysThatLookLikeSignsNeedOne) {
  const ParsedLine line("scan [(a [[a 100\r\n");
  expect_bound(line.range().low, "(a", true);
  expect_bound(line.range().high, "[a", true);
  const ParsedLine ends("scan (- [+ 100\r\n");
  expect_bound(ends.range().low, "-", false);
  expect_bound(ends.range().high, "+", true);
  const ParsedLine cursor("scan [cursor=a 100\r\n");
  expect_bound(cursor.range().low, "cursor=a", true);
  const ParsedLine longer("scan -a [+b 100\r\n");
  expect_bound(longer.range().low, "-a", true);
}

TEST(Ranges, FromTheMaximumOrUpToTheMinimumIsARangeOfNoKeys) {
  const std::string greatest(kMaxKeyBytes, '\xff');
  for (const std::string_view text : {"scan + 5\r\n", "scan + + 5\r\n", "scan - - 5\r\n", "scan a - 5\r\n"}) {
    const ParsedLine line(text);
    ASSERT_TRUE(line.accepted()) << text;
    expect_bound(line.range().low, greatest, false);
    EXPECT_TRUE(line.range().high.unbounded);
  }
}

TEST(Ranges, ASecondWordWithoutASignIsACount) {
  expect_refused("scan a b 10", kBareEnd);
  expect_refused("scan - +b 10", kBareEnd);
  expect_refused("scan a b", kBadFormat);
  expect_refused("pscan a b 10", kBadFormat);
  expect_refused("scan a x", kBadFormat);
  expect_refused("scan a 5 10", kBadFormat);
}

TEST(Ranges, WordsComeInAnyOrder) {
  expect_refused("scans [a (b 7 base64 cursor bytes=4096 keys reverse", kBadEncoding);
  const ParsedLine plain("scans [a (b 7 cursor bytes=4096 keys reverse\r\n");
  ASSERT_TRUE(plain.accepted());
  EXPECT_EQ(plain->op, verb::scans);
  EXPECT_TRUE(plain.range().with_cas);
  EXPECT_TRUE(plain.range().want_cursor);
  EXPECT_TRUE(plain.range().keys_only);
  EXPECT_TRUE(plain.range().reverse);
  EXPECT_FALSE(plain.range().base64);
  EXPECT_EQ(plain.range().byte_limit, 4096U);
  expect_bound(plain.range().low, "a", true);
  expect_bound(plain.range().high, "b", false);
  EXPECT_TRUE(ParsedLine("scan a 5 keys\r\n").range().keys_only);
}

TEST(Ranges, EachWordComesAtMostOnceAndNoOther) {
  for (const std::string_view words : {"keys keys", "reverse reverse", "cursor cursor", "base64 base64",
                                       "bytes=1 bytes=2", "bytes=", "bytes=0", "bytes=x", "bytes=-1", "bytes",
                                       "bogus", "noreply", "Keys", "bytes=18446744073709551616"}) {
    expect_refused("scan - + 5 " + std::string(words), kBadFormat);
  }
}

TEST(Ranges, MalformedRangesAreRefused) {
  for (const std::string& line : {std::string("scan"),
                                  std::string("scans"),
                                  std::string("pscan"),
                                  std::string("scan a"),
                                  std::string("scan a [b"),
                                  std::string("scan a [b x"),
                                  std::string("scan a [b -1"),
                                  std::string("scan a [b 0"),
                                  std::string("scan a 0"),
                                  std::string("scan [ 5"),
                                  std::string("scan ( 5"),
                                  std::string("scan a [ 5"),
                                  std::string("pscan a"),
                                  std::string("pscan a x"),
                                  std::string("pscan a [b 5"),
                                  "scan " + overlong_key() + " 5",
                                  "scan [" + overlong_key() + " 5",
                                  "scan - (" + overlong_key() + " 5",
                                  "pscan " + overlong_key() + " 5",
                                  std::string("scan a\rb 5"),
                                  std::string("scan a [b\rc 5"),
                                  std::string("pscan a\0 5", 9),
                                  std::string("scan a 18446744073709551616")}) {
    expect_refused(line, kBadFormat);
  }
}

TEST(Ranges, ASignAddsNothingToTheLongestKey) {
  const std::string longest(kMaxKeyBytes, 'k');
  const ParsedLine line("scan [" + longest + " (" + longest + " 5\r\n");
  ASSERT_TRUE(line.accepted());
  expect_bound(line.range().low, longest, true);
  expect_bound(line.range().high, longest, false);
}

TEST(Ranges, APrefixIsTakenAsItIs) {
  for (const std::string_view prefix : {"user:", "[a", "(", "-", "+"}) {
    const ParsedLine line("pscan " + std::string(prefix) + " 5 reverse\r\n");
    ASSERT_TRUE(line.accepted()) << prefix;
    EXPECT_TRUE(line.range().by_prefix);
    EXPECT_TRUE(line.range().reverse);
    EXPECT_EQ(line.range().prefix, prefix);
    EXPECT_TRUE(line.range().low.unbounded);
    EXPECT_TRUE(line.range().high.unbounded);
  }
  EXPECT_FALSE(ParsedLine("pscan a 5\r\n").range().with_cas);
  EXPECT_TRUE(ParsedLine("pscans a 5\r\n").range().with_cas);
}

TEST(Ranges, Base64CarriesBoundsOfAnyBytes) {
  const ParsedLine line("scan [AAEC (/w== 5 base64\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().base64);
  expect_bound(line.range().low, std::string_view("\0\1\2", 3), true);
  expect_bound(line.range().high, "\xff", false);
  const ParsedLine ends("scan - + 5 base64\r\n");
  EXPECT_TRUE(ends.range().low.unbounded);
  EXPECT_TRUE(ends.range().high.unbounded);
  EXPECT_EQ(ParsedLine("pscan IAA= 5 base64\r\n").range().prefix, std::string_view(" \0", 2));
  expect_bound(ParsedLine("scan +/+/ 5 base64\r\n").range().low, "\xfb\xff\xbf", true);
}

TEST(Ranges, Base64BoundsReachTheLongestKey) {
  for (std::size_t bytes = kMaxKeyBytes; bytes <= kMaxKeyBytes + 6; ++bytes) {
    std::string encoded(400, '\0');
    encoded.resize(
        static_cast<std::size_t>(write_base64(encoded.data(), std::string(bytes, '\x01')) - encoded.data()));
    std::string text = "scan [";
    text.append(encoded).append(" [").append(encoded).append(" 5 base64");
    if (bytes == kMaxKeyBytes) {
      const ParsedLine line(text + "\r\n");
      ASSERT_TRUE(line.accepted());
      expect_bound(line.range().low, std::string(bytes, '\x01'), true);
      expect_bound(line.range().high, std::string(bytes, '\x01'), true);
    } else {
      expect_refused(text, kBadFormat);
    }
  }
}

TEST(Ranges, BadBase64IsDistinguished) {
  for (const std::string_view line : {"scan [!!! 10 base64", "scan YQ 5 base64", "scan - [YQ= 5 base64",
                                      "pscan a 5 base64", "scan (YR== 5 base64"}) {
    expect_refused(line, kBadEncoding);
  }
  expect_refused("scan [ 5 base64", kBadFormat);
}

TEST(Ranges, ACursorGoesOnBeyondItsLastKey) {
  CursorState state;
  state.last_key = "m";
  state.far = {"z", false, false};
  const ParsedLine up("scan cursor=" + cursor_text(state) + " 9 keys\r\n");
  ASSERT_TRUE(up.accepted());
  expect_bound(up.range().low, "m", false);
  expect_bound(up.range().high, "z", false);
  EXPECT_EQ(up.range().limit, 9U);
  EXPECT_TRUE(up.range().keys_only);
  EXPECT_FALSE(up.range().reverse);
  state.reverse = true;
  const ParsedLine down("scans cursor=" + cursor_text(state) + " 9\r\n");
  ASSERT_TRUE(down.accepted());
  EXPECT_TRUE(down.range().reverse);
  expect_bound(down.range().low, "z", false);
  expect_bound(down.range().high, "m", false);
  EXPECT_TRUE(down.range().with_cas);
}

TEST(Ranges, ACursorOfAPrefixKeepsIt) {
  CursorState state;
  state.last_key = "user:5";
  state.prefix = "user:";
  state.by_prefix = true;
  const ParsedLine line("pscan cursor=" + cursor_text(state) + " 9\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().by_prefix);
  EXPECT_EQ(line.range().prefix, "user:");
  expect_bound(line.range().low, "user:5", false);
  EXPECT_TRUE(line.range().high.unbounded);
}

TEST(Ranges, ACursorIsNoGoodForAnotherKindOfRangeOrDirection) {
  CursorState state;
  state.last_key = "abc";
  const std::string up = cursor_text(state);
  expect_refused("pscan cursor=" + up + " 9", kBadCursor);
  expect_refused("scan cursor=" + up + " 9 reverse", kBadCursor);
  state.reverse = true;
  EXPECT_TRUE(ParsedLine("scan cursor=" + cursor_text(state) + " 9 reverse\r\n").range().reverse);
  state.prefix = "a";
  state.by_prefix = true;
  expect_refused("scan cursor=" + cursor_text(state) + " 9", kBadCursor);
}

TEST(Ranges, ACursorTakesTheLimitAloneAndIsChecked) {
  for (const std::string_view line : {"scan cursor=nonsense 10", "scan cursor= 10", "pscan cursor=AAAA 10"}) {
    expect_refused(line, kBadCursor);
  }
  expect_refused("scan cursor=AAAA", kBadFormat);
  expect_refused("scan cursor=AAAA [b 10", kBadFormat);
  expect_refused("scan cursor=AAAA 10 bogus", kBadFormat);
}

TEST(Ranges, NothingOfAnEarlierRangeRemains) {
  Request request;
  LineState line;
  const Parser parser{ParserLimits{}};
  const std::string first = "pscans a 5 reverse keys cursor bytes=9\r\n";
  const std::string second = "scan b 6\r\n";
  ASSERT_EQ(parser.parse(first.data(), first.size(), line, request).what, outcome::request);
  ASSERT_EQ(parser.parse(second.data(), second.size(), line, request).what, outcome::request);
  EXPECT_TRUE(request.range.prefix.empty());
  EXPECT_FALSE(request.range.by_prefix || request.range.with_cas || request.range.reverse);
  EXPECT_FALSE(request.range.keys_only || request.range.want_cursor);
  EXPECT_EQ(request.range.byte_limit, 0U);
}

}  // namespace
}  // namespace mxkv::protocol

// mr, mc, mx, mt: bounds in walking order, every flag, cursors, every error line.
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(MetaRanges, MinusIsTheEndWhereTheWalkBegins) {
  const ParsedLine up("mr -\r\n");
  ASSERT_TRUE(up.accepted());
  EXPECT_EQ(up->op, verb::meta_range);
  EXPECT_TRUE(up.range().low.unbounded);
  EXPECT_TRUE(up.range().high.unbounded);
  EXPECT_FALSE(up.range().reverse);
  EXPECT_TRUE(up.range().want_cursor);
  EXPECT_TRUE(up.range().keys_only);
  EXPECT_FALSE(up->meta.value);
  const ParsedLine down("mr - r\r\n");
  EXPECT_TRUE(down.range().high.unbounded);
  EXPECT_TRUE(down.range().reverse);
}

TEST(MetaRanges, MinusIsAKeyWhereAFlagSaysSo) {
  EXPECT_EQ(ParsedLine("mr - p\r\n").range().prefix, "-");
  expect_refused("mr - b", kBadEncoding);
}

TEST(MetaRanges, BoundsAreInWalkingOrder) {
  const ParsedLine up("mr a Hc\r\n");
  expect_bound(up.range().low, "a", true);
  expect_bound(up.range().high, "c", false);
  const ParsedLine down("mr c Ha r i o\r\n");
  expect_bound(down.range().high, "c", false);
  expect_bound(down.range().low, "a", true);
}

TEST(MetaRanges, APrefixIsNoBound) {
  const ParsedLine line("mr user: p r\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().by_prefix);
  EXPECT_TRUE(line.range().reverse);
  EXPECT_EQ(line.range().prefix, "user:");
  for (const char* flags : {"Hz", "i", "o"}) {
    expect_refused(std::string("mr user: p ") + flags, kPrefixHasNoBound);
  }
}

TEST(MetaRanges, StartAndFarBoundInBase64) {
  const ParsedLine line("mr AAE= b HAP8= i\r\n");
  ASSERT_TRUE(line.accepted());
  expect_bound(line.range().low, std::string_view("\0\1", 2), true);
  expect_bound(line.range().high, std::string_view("\0\xff", 2), true);
  expect_refused("mr AAE b", kBadEncoding);
  expect_refused("mr AAE= b H!", kBadEncoding);
}

TEST(MetaRanges, Budgets) {
  const ParsedLine line("mr - A10 B20 U30\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line.range().limit, 10U);
  EXPECT_EQ(line.range().byte_limit, 20U);
  EXPECT_EQ(line.range().time_limit_us, 30U);
  EXPECT_EQ(ParsedLine("mr -\r\n").range().limit, ~std::uint64_t{0});
  for (const char* bad : {"A", "A0", "Ax", "A-1", "B0", "U0", "A99999999999999999999"}) {
    expect_refused(std::string("mr - ") + bad, kBadToken);
  }
}

TEST(MetaRanges, ReplyFlagsAreKeptInTheOrderSent) {
  const ParsedLine line("mr - t v Oabc s f c l h k q u P L\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->meta.wants(), "tOsfclh");
  EXPECT_EQ(line->meta.opaque(), "abc");
  EXPECT_TRUE(line->meta.value);
  EXPECT_TRUE(line->meta.quiet);
  EXPECT_FALSE(line.range().keys_only);
}

TEST(MetaRanges, WrongFlagsAndBoundsAreRefused) {
  expect_refused("mr", kBadFormat);
  expect_refused("mr " + overlong_key(), kBadFormat);
  expect_refused("mr a H" + overlong_key(), kBadFormat);
  expect_refused("mr a H", kBadFormat);
  expect_refused("mr a v v", kDuplicateFlag);
  expect_refused("mr a T10", kInvalidFlag);
  expect_refused("mr a e", kInvalidFlag);
  expect_refused("mr a O" + std::string(32, 'o'), kLongOpaque);
  expect_refused("mr a p H i o r A1 U1 O q P L B1 v f c t s l h", kTooManyFlags);
  expect_refused("mr a G!", kBadCursor);
}

TEST(MetaRanges, ACursorTakesThePlaceOfStartBoundAndDirection) {
  const CursorState state{"m", {"c", false, true}, {}, false, true};
  const ParsedLine line("mr a Hb o G" + cursor_text(state) + " v\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().reverse);
  expect_bound(line.range().high, "m", false);
  expect_bound(line.range().low, "c", true);
  EXPECT_TRUE(line->meta.value);
}

TEST(MetaRanges, APageMayBeOneSnapshot) {
  EXPECT_FALSE(ParsedLine("mr a\r\n").range().locked);
  EXPECT_TRUE(ParsedLine("mr a r A3 U5 X\r\n").range().locked);
  expect_refused("mr a X X", kDuplicateFlag);
}

TEST(MetaRanges, ACursorDoesNotRememberTheLock) {
  const std::string cursor = " G" + cursor_text({"m", {}, {}, false, false});
  EXPECT_TRUE(ParsedLine("mr -" + cursor + " X\r\n").range().locked);
  EXPECT_FALSE(ParsedLine("mr -" + cursor + "\r\n").range().locked);
}

TEST(MetaRanges, ALockedCountIsExactAndHasNoPages) {
  const ParsedLine line("mc user: p X Ms\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().locked && line.range().exact);
  EXPECT_FALSE(ParsedLine("mc user: p\r\n").range().exact);
  EXPECT_FALSE(ParsedLine("mc user: p e\r\n").range().locked);
  expect_refused("mc - D: X", kLockedCount);
  expect_refused("mc - X A1", kBadCountFlags);
}

TEST(MetaRanges, ALockedDeleteIsAllOrNothing) {
  const ParsedLine line("mx a Hb A100 X q\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_TRUE(line.range().locked);
  EXPECT_EQ(line.range().limit, 100U);
  EXPECT_FALSE(ParsedLine("mx a Hb A100\r\n").range().locked);
  const std::string cursor = " G" + cursor_text({"m", {}, {}, false, false});
  EXPECT_TRUE(ParsedLine("mx -" + cursor + "\r\n").accepted());
  expect_refused("mx - X" + cursor, kLockedDelete);
  expect_refused("mx - X U9", kLockedDelete);
  expect_refused("mx - X r", kNotBackward);
}

TEST(MetaRanges, ATouchIsAllOrNothingAndHasATime) {
  const ParsedLine line("mt a Hb i o A9 Oabc q P L T-1\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::meta_range_touch);
  EXPECT_TRUE(is_range(line->op));
  EXPECT_FALSE(is_meta(line->op));
  EXPECT_TRUE(line.range().locked);
  EXPECT_FALSE(line.range().reverse);
  EXPECT_EQ(line.range().limit, 9U);
  EXPECT_EQ(line->exptime, -1);
  EXPECT_TRUE(line->meta.quiet);
  EXPECT_EQ(line->meta.opaque(), "abc");
  expect_bound(line.range().low, "a", false);
  expect_bound(line.range().high, "b", true);
  EXPECT_EQ(ParsedLine("mt user: p T2592000\r\n").range().prefix, "user:");
  EXPECT_EQ(ParsedLine("mt - T0\r\n")->exptime, 0);
  EXPECT_EQ(ParsedLine("mt YWJj b T0\r\n").range().low.key, "abc");
}

TEST(MetaRanges, ATouchThatIsRefused) {
  expect_refused("mt", kBadFormat);
  expect_refused("mt a", kTouchNeedsTime);
  expect_refused("mt a p A1", kTouchNeedsTime);
  for (const char* bad : {"T", "Tx", "T1x", "T+1", "T--1", "T9223372036854775808"}) {
    expect_refused(std::string("mt a ") + bad, kBadToken);
  }
  expect_refused("mt a T1 T1", kDuplicateFlag);
  for (const std::string& bad : {std::string("r"), std::string("U1"), std::string("X"), std::string("B1"),
                                 std::string("v"), "G" + cursor_text({"m", {}, {}, false, false})}) {
    expect_refused("mt a T1 " + bad, kInvalidFlag);
  }
  expect_refused("mt a p Hb T1", kPrefixHasNoBound);
}

TEST(MetaRanges, CountsHaveNoDirection) {
  const ParsedLine line("mc c Ha r e Msnx\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::meta_count);
  EXPECT_FALSE(line.range().reverse);
  expect_bound(line.range().low, "a", false);
  expect_bound(line.range().high, "c", true);
  EXPECT_TRUE(line.range().exact);
  EXPECT_TRUE(line.range().numeric.sum && line.range().numeric.least && line.range().numeric.greatest);
  for (const char* bad : {"M", "My", "Mss"}) {
    expect_refused(std::string("mc - ") + bad, kBadToken);
  }
  expect_refused("mc - v", kInvalidFlag);
  expect_refused("mc - A1", kBadCountFlags);
  expect_refused("mc - U1", kBadCountFlags);
  expect_refused("mc - G" + cursor_text({"m", {}, {}, false, true}), kBadCursor);
}

TEST(MetaRanges, PrefixesByDelimiter) {
  const ParsedLine line("mc user: p D:: A5\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line.range().delimiter, "::");
  EXPECT_EQ(line.range().limit, 5U);
  EXPECT_FALSE(line.range().names_only);
  EXPECT_TRUE(ParsedLine("mc - D: k\r\n").range().names_only);
  expect_refused("mc - k", kBadCountFlags);
  expect_refused("mc - D", kBadToken);
  expect_refused("mc - D" + std::string(kMaxDelimiterBytes + 1, ':'), kBadToken);
  expect_refused("mc - D: Ms", kBadCountFlags);
}

TEST(MetaRanges, DeletesGoForward) {
  const ParsedLine line("mx user: p A100 q\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::meta_range_delete);
  EXPECT_EQ(line.range().limit, 100U);
  EXPECT_TRUE(line->meta.quiet);
  expect_refused("mx - r", kNotBackward);
  expect_refused("mx - G" + cursor_text({"m", {}, {}, false, true}), kNotBackward);
  expect_refused("mx - B1", kInvalidFlag);
}

CursorState by_prefix(std::string_view last, std::string_view prefix) {
  CursorState state;
  state.last_key = last;
  state.prefix = prefix;
  state.by_prefix = true;
  return state;
}

CursorState up_to(std::string_view last, std::string_view far, bool inclusive = false) {
  CursorState state;
  state.last_key = last;
  state.far = {far, false, inclusive};
  return state;
}

CursorState open_ended(std::string_view last) {
  CursorState state;
  state.last_key = last;
  return state;
}

void expect_goes_on(std::string_view line, const CursorState& state) {
  EXPECT_TRUE(ParsedLine(std::string(line) + " G" + cursor_text(state) + "\r\n").accepted()) << line;
}

void expect_foreign(std::string_view line, const CursorState& state) {
  expect_refused(std::string(line) + " G" + cursor_text(state), kForeignCursor);
}

TEST(MetaRanges, ADeleteGoesOnWithItsOwnCursor) {
  expect_goes_on("mx user: p A100", by_prefix("user:7", "user:"));
  expect_goes_on("mx - p", by_prefix("-1", "-"));
  expect_goes_on("mx b Hd", up_to("b", "d"));
  expect_goes_on("mx b Hd", up_to("c", "d"));
  expect_goes_on("mx b Hd i", up_to("d", "d", true));
  expect_goes_on("mx b o Hd", up_to("b1", "d"));
  expect_goes_on("mx b", open_ended("x"));
  expect_goes_on("mx - Hd", up_to("b", "d"));
  expect_goes_on("mx -", open_ended("x"));
  expect_goes_on("mx Yg== b HZA==", up_to("c", "d"));
}

TEST(MetaRanges, ADeleteGoesOnWithACursorOfAPartOfItsRange) {
  expect_goes_on("mx -", by_prefix("user:7", "user:"));
  expect_goes_on("mx -", up_to("b", "d"));
  expect_goes_on("mx us p", by_prefix("user:7", "user:"));
  expect_goes_on("mx us p", up_to("user:7", "user:8", true));
  expect_goes_on("mx us Hut", by_prefix("user:7", "user:"));
  expect_goes_on("mx b Hd i", up_to("c", "d"));
  expect_goes_on("mx b Hx", up_to("c", "d"));
}

TEST(MetaRanges, ADeleteRefusesACursorThatLeadsOutOfItsRange) {
  expect_foreign("mx user: p", open_ended("user:7"));
  expect_foreign("mx user: p", up_to("user:7", "v"));
  expect_foreign("mx user: p", up_to("a", "user:7"));
  expect_foreign("mx user: p", by_prefix("user:7", "us"));
  expect_foreign("mx user: p", by_prefix("video:7", "video:"));
  expect_foreign("mx dXNlcjo= p b", open_ended("user:7"));
  expect_foreign("mx b Hd", open_ended("c"));
  expect_foreign("mx b Hd", up_to("c", "e"));
  expect_foreign("mx b Hd", up_to("c", "d", true));
  expect_foreign("mx b Hd", up_to("a", "d"));
  expect_foreign("mx b", open_ended("a"));
  expect_foreign("mx us Huser:5", by_prefix("user:7", "user:"));
  expect_foreign("mx v Hw", by_prefix("user:7", "user:"));
}

TEST(MetaRanges, ALineThatGoesOnMustNameARangeIfItDeletes) {
  const std::string cursor = " G" + cursor_text(open_ended("x"));
  expect_refused("mx a p Hb" + cursor, kPrefixHasNoBound);
  expect_refused("mx AAE b" + cursor, kBadEncoding);
  EXPECT_TRUE(ParsedLine("mr AAE b" + cursor + "\r\n").accepted()) << "reads follow it wherever it leads";
}

}  // namespace
}  // namespace mxkv::protocol

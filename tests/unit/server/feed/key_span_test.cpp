// Spans of keys: prefixes, bounds, parts that two spans share.
#include "server/feed/key_span.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

TEST(KeySpan, APrefixEndsBehindItsLastKey) {
  const KeySpan span = span_of_prefix("user:");
  EXPECT_TRUE(span.has("user:"));
  EXPECT_TRUE(span.has("user:\xFF\xFF"));
  EXPECT_FALSE(span.has("user;"));
  EXPECT_FALSE(span.has("user"));
}

TEST(KeySpan, APrefixOfGreatestBytesHasNoEnd) {
  const KeySpan span = span_of_prefix("\xFF\xFF");
  EXPECT_TRUE(span.endless);
  EXPECT_TRUE(span.has("\xFF\xFF\xFF"));
  EXPECT_FALSE(span.has("\xFF\xFE"));
  EXPECT_EQ(span_of_prefix("a\xFF").high, "b");
}

TEST(KeySpan, BoundsMayBeOpenOrClosed) {
  const KeySpan closed = span_of(RecordBounds{.from = "b", .to = "d"});
  EXPECT_TRUE(closed.has("b"));
  EXPECT_TRUE(closed.has("d"));
  EXPECT_FALSE(closed.has(std::string_view{"d\0", 2}));
  const KeySpan open =
      span_of(RecordBounds{.from = "b", .to = "d", .from_is_open = true, .to_is_open = true});
  EXPECT_FALSE(open.has("b"));
  EXPECT_TRUE(open.has(std::string_view{"b\0", 2}));
  EXPECT_FALSE(open.has("d"));
  EXPECT_TRUE(span_of(RecordBounds{.from = "b", .has_no_end = true}).has("\xFF"));
}

TEST(KeySpan, TheRangeOfALineBecomesASpan) {
  protocol::RangeRequest range;
  EXPECT_EQ(span_of(range), KeySpan{});
  range.low = {.key = "a", .unbounded = false, .inclusive = false};
  range.high = {.key = "c", .unbounded = false, .inclusive = true};
  EXPECT_FALSE(span_of(range).has("a"));
  EXPECT_TRUE(span_of(range).has("c"));
  range.by_prefix = true;
  range.prefix = "p";
  EXPECT_EQ(span_of(range), span_of_prefix("p"));
}

TEST(KeySpan, SpansThatTouchDoNotMeet) {
  const KeySpan left{.low = "a", .high = "c", .endless = false};
  const KeySpan right{.low = "c", .high = "e", .endless = false};
  const KeySpan wide{.low = "b"};
  EXPECT_FALSE(left.meets(right));
  EXPECT_FALSE(right.meets(left));
  EXPECT_TRUE(left.meets(wide));
  EXPECT_TRUE(wide.meets(right));
  EXPECT_TRUE(left.cut_to(right).empty());
  EXPECT_EQ(left.cut_to(wide), (KeySpan{.low = "b", .high = "c", .endless = false}));
  EXPECT_EQ(wide.cut_to(left), (KeySpan{.low = "b", .high = "c", .endless = false}));
}

}  // namespace
}  // namespace mxkv::server

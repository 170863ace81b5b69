// Cursors: a written cursor is read back; a changed one is refused.
#include "protocol/cursor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/reply.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::protocol {
namespace {

std::string written(const CursorState& state) {
  std::vector<char> out(kMaxCursorBytes);
  return {out.data(), write_cursor(out.data(), state)};
}

/// A decoded cursor with the memory its keys point into.
struct Read {
  RangeRequest range;
  std::unique_ptr<char[]> scratch = std::make_unique<char[]>(kMaxCursorBytes);
  bool good = false;
};

Read read(std::string_view text) {
  Read result;
  result.good = read_cursor(text, result.range, result.scratch.get());
  return result;
}

CursorState bounded(std::string_view last, std::string_view far, bool inclusive, bool reverse) {
  CursorState state;
  state.last_key = last;
  state.far = {far, false, inclusive};
  state.reverse = reverse;
  return state;
}

CursorState prefixed(std::string_view last, std::string_view prefix, bool reverse) {
  CursorState state;
  state.last_key = last;
  state.prefix = prefix;
  state.by_prefix = true;
  state.reverse = reverse;
  return state;
}

void expect_same(const RangeBound& found, const RangeBound& expected) {
  EXPECT_EQ(found.unbounded, expected.unbounded);
  if (!expected.unbounded) {
    EXPECT_EQ(found.key, expected.key);
    EXPECT_EQ(found.inclusive, expected.inclusive);
  }
}

std::vector<CursorState> states() {
  static const std::string longest(kMaxKeyBytes, '\xff');
  static const std::string binary("\0 \n\x7f", 4);
  std::vector<CursorState> all;
  for (const bool reverse : {false, true}) {
    for (const std::string_view last :
         {std::string_view("k"), std::string_view(longest), std::string_view(binary)}) {
      CursorState open;
      open.last_key = last;
      open.reverse = reverse;
      all.push_back(open);
      for (const bool inclusive : {false, true}) {
        all.push_back(bounded(last, "z", inclusive, reverse));
        all.push_back(bounded(last, longest, inclusive, reverse));
        all.push_back(bounded(last, binary, inclusive, reverse));
      }
      all.push_back(prefixed(last, last, reverse));
      all.push_back(prefixed(last, last.substr(0, 1), reverse));
      all.push_back(prefixed(last, "", reverse));
    }
  }
  return all;
}

TEST(Cursor, TheRangeGoesOnExclusivelyBeyondTheLastKey) {
  for (const CursorState& state : states()) {
    const Read back = read(written(state));
    ASSERT_TRUE(back.good);
    EXPECT_EQ(back.range.reverse, state.reverse);
    EXPECT_EQ(back.range.by_prefix, state.by_prefix);
    EXPECT_EQ(back.range.prefix, state.prefix);
    expect_same(state.reverse ? back.range.high : back.range.low, {state.last_key, false, false});
    expect_same(state.reverse ? back.range.low : back.range.high, state.by_prefix ? RangeBound{} : state.far);
  }
}

TEST(Cursor, TheTextIsPrintableAndFitsItsRoom) {
  for (const CursorState& state : states()) {
    const std::string text = written(state);
    EXPECT_LE(text.size(), kMaxCursorBytes);
    EXPECT_TRUE(all_key_bytes(text)) << text;
  }
}

TEST(Cursor, OtherArgumentsOfTheRangeAreLeftAlone) {
  Read result;
  result.range.limit = 7;
  result.range.keys_only = true;
  ASSERT_TRUE(read_cursor(written(bounded("a", "b", true, false)), result.range, result.scratch.get()));
  EXPECT_EQ(result.range.limit, 7U);
  EXPECT_TRUE(result.range.keys_only);
}

TEST(Cursor, AnyChangedByteIsRefused) {
  for (const CursorState& state : {bounded("hello", "world", true, false), prefixed("hello", "he", true)}) {
    const std::string good = written(state);
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string text = good;
        text[at] = static_cast<char>(byte);
        EXPECT_EQ(read(text).good, text == good) << at << ' ' << byte;
      }
    }
  }
}

TEST(Cursor, AnyShorterOrLongerTextIsRefused) {
  const std::string good = written(bounded("hello", "world", true, false));
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(read(good.substr(0, bytes)).good) << bytes;
    EXPECT_FALSE(read(good.substr(good.size() - bytes)).good) << bytes;
  }
  EXPECT_FALSE(read(good + good).good);
  EXPECT_FALSE(read(good + "AAAA").good);
  EXPECT_FALSE(read(std::string(kMaxCursorBytes + 4, 'A')).good);
  EXPECT_FALSE(read(std::string(kMaxCursorBytes, 'A')).good);
}

/// All keys of one to three letters out of three.
std::vector<std::string> small_keys() {
  std::vector<std::string> keys{"a", "b", "c"};
  for (std::size_t i = 0; keys[i].size() < 3; ++i) {
    for (const char letter : {'a', 'b', 'c'}) {
      keys.push_back(keys[i] + letter);
    }
  }
  return keys;
}

bool holds(const RangeRequest& range, std::string_view key) {
  const RangeBound& low = range.low;
  const RangeBound& high = range.high;
  return (!range.by_prefix || key.starts_with(range.prefix)) &&
         (low.unbounded || key > low.key || (low.inclusive && key == low.key)) &&
         (high.unbounded || key < high.key || (high.inclusive && key == high.key));
}

RangeBound any_bound(const std::vector<std::string>& keys, runtime::Random& random) {
  return random.below(4) == 0 ? RangeBound{}
                              : RangeBound{keys[random.below(keys.size())], false, random.below(2) == 0};
}

RangeRequest any_range(const std::vector<std::string>& keys, runtime::Random& random) {
  RangeRequest range;
  range.by_prefix = random.below(3) == 0;
  if (range.by_prefix) {
    range.prefix =
        random.below(8) == 0 ? std::string_view{} : std::string_view{keys[random.below(keys.size())]};
  } else {
    range.low = any_bound(keys, random);
    range.high = any_bound(keys, random);
  }
  return range;
}

/// The part of a range that a cursor leaves behind one of its keys.
RangeRequest rest_behind(const RangeRequest& range, const std::string& last) {
  RangeRequest rest = range;
  rest.low = {last, false, false};
  return rest;
}

TEST(Cursor, ASubrangeHoldsNoKeyOutsideItsRange) {
  const std::vector<std::string> keys = small_keys();
  runtime::Random random(7);
  int within = 0;
  for (int i = 0; i < 100'000; ++i) {
    const RangeRequest rest = rest_behind(any_range(keys, random), keys[random.below(keys.size())]);
    const RangeRequest named = any_range(keys, random);
    if ((rest.by_prefix && !rest.low.key.starts_with(rest.prefix)) || !lies_within(rest, named)) {
      continue;  // no cursor is so
    }
    ++within;
    for (const std::string& key : keys) {
      ASSERT_TRUE(!holds(rest, key) || holds(named, key)) << key << " of case " << i;
    }
  }
  EXPECT_GT(within, 10'000);
}

TEST(Cursor, TheRestBehindAKeyLiesWithinTheRange) {
  const std::vector<std::string> keys = small_keys();
  runtime::Random random(8);
  for (int i = 0; i < 100'000; ++i) {
    const RangeRequest range = any_range(keys, random);
    const std::string& last = keys[random.below(keys.size())];
    if (holds(range, last)) {
      ASSERT_TRUE(lies_within(rest_behind(range, last), range)) << i;
    }
  }
}

}  // namespace
}  // namespace mxkv::protocol

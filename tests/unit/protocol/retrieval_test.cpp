// get, gets, gat, gats: all keys are given and all are checked.
#include <string>
#include <vector>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

std::vector<std::string> keys_of(const ParsedLine& line) {
  std::vector<std::string> keys;
  std::string_view rest = line->keys;
  for (std::string_view key = next_key(rest); !key.empty(); key = next_key(rest)) {
    keys.emplace_back(key);
  }
  return keys;
}

TEST(Retrieval, AllKeysComeInOrderWithTheirNumber) {
  for (const std::string_view verb : {"get", "gets", "gat 5", "gats 5"}) {
    const ParsedLine line(std::string(verb) + "  a bb  a \r\n");
    ASSERT_TRUE(line.accepted()) << verb;
    EXPECT_EQ(line->key, "a");
    EXPECT_EQ(line->key_count, 3U);
    EXPECT_EQ(keys_of(line), (std::vector<std::string>{"a", "bb", "a"})) << verb;
    EXPECT_TRUE(is_retrieval(line->op));
    EXPECT_FALSE(line->noreply);
  }
}

TEST(Retrieval, EachVerbIsItself) {
  EXPECT_EQ(ParsedLine("get a\n")->op, verb::get);
  EXPECT_EQ(ParsedLine("gets a\n")->op, verb::gets);
  EXPECT_EQ(ParsedLine("gat 1 a\n")->op, verb::gat);
  EXPECT_EQ(ParsedLine("gats 1 a\n")->op, verb::gats);
}

TEST(Retrieval, GatHasItsTime) {
  EXPECT_EQ(ParsedLine("gat 2592001 a\r\n")->exptime, 2592001);
  EXPECT_EQ(ParsedLine("gats -1 a\r\n")->exptime, -1);
  for (const std::string_view time : {"x", "1x", "9223372036854775808", "+1"}) {
    expect_refused("gat " + std::string(time) + " a", kBadExptime);
  }
}

TEST(Retrieval, WithoutAKeyItIsMalformed) {
  for (const std::string_view line : {"get", "get ", "gets", "gat", "gats", "gat 0", "gats 0 ", "gat x"}) {
    expect_refused(line, kBadFormat);
  }
}

TEST(Retrieval, ABadKeyAnywhereIsOneError) {
  for (const std::string& bad :
       {overlong_key(), std::string("a\0b", 3), std::string("\x01\0", 2), std::string("a\rb")}) {
    expect_refused("get " + bad, kBadFormat);
    expect_refused("get " + bad + " a", kBadFormat);
    expect_refused("get a b " + bad, kBadFormat);
    expect_refused("gat 0 a " + bad + " b", kBadFormat);
  }
}

TEST(Retrieval, KeysMayHoldControlBytes) {
  EXPECT_EQ(keys_of(ParsedLine("get a\tb \x10\x10k \x7f x\x01\r\n")),
            (std::vector<std::string>{"a\tb", "\x10\x10k", "\x7f", "x\x01"}));
  EXPECT_EQ(ParsedLine("set \x01 0 0 1\r\n")->key, "\x01");
}

TEST(Retrieval, NoreplyIsAKey) {
  const ParsedLine line("get a noreply\r\n");
  EXPECT_EQ(keys_of(line), (std::vector<std::string>{"a", "noreply"}));
  EXPECT_FALSE(line->noreply);
}

TEST(Retrieval, KeysHoldHighBytesAndReachTheLongestLength) {
  const std::string longest(kMaxKeyBytes, '\xff');
  const ParsedLine line("get " + longest + " \xc3\xa4\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(keys_of(line), (std::vector<std::string>{longest, "\xc3\xa4"}));
}

TEST(Retrieval, ThousandsOfKeysFitALine) {
  std::string text = "get";
  for (int i = 0; i < 10000; ++i) {
    text += " key" + std::to_string(i);
  }
  const ParsedLine line(text + "\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->key_count, 10000U);
  EXPECT_EQ(keys_of(line).back(), "key9999");
}

}  // namespace
}  // namespace mxkv::protocol

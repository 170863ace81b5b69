// Storage commands: arguments, and how many bytes every error swallows.
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Storage, EveryVerbGivesItsArguments) {
  const struct {
    std::string_view name;
    verb op;
  } verbs[] = {{"set", verb::set},         {"put", verb::set},       {"add", verb::add},
               {"replace", verb::replace}, {"append", verb::append}, {"prepend", verb::prepend}};
  for (const auto& [name, op] : verbs) {
    const ParsedLine line(std::string(name) + " key 4294967295 -12 100\r\n");
    ASSERT_TRUE(line.accepted()) << name;
    EXPECT_EQ(line->op, op) << name;
    EXPECT_EQ(line->key, "key");
    EXPECT_EQ(line->flags, 4294967295U);
    EXPECT_EQ(line->exptime, -12);
    EXPECT_EQ(line->value_bytes, 100U);
    EXPECT_FALSE(line->noreply);
    EXPECT_TRUE(is_storage(line->op));
  }
}

TEST(Storage, CasHasANumberToCompare) {
  const ParsedLine line("cas k 1 2 3 18446744073709551615\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::cas);
  EXPECT_EQ(line->cas, 18446744073709551615U);
  EXPECT_EQ(line->value_bytes, 3U);
}

TEST(Storage, OnlyTheLineIsConsumed) {
  const ParsedLine line("set k 0 0 3\r\nabc\r\n");
  EXPECT_EQ(line.parsed().consumed, 13U);
  EXPECT_EQ(line.parsed().swallow, 0U);
}

TEST(Storage, NoreplyCountsAsTheLastWord) {
  EXPECT_TRUE(ParsedLine("set k 0 0 3 noreply\r\n")->noreply);
  EXPECT_TRUE(ParsedLine("cas k 0 0 3 1 noreply \r\n")->noreply);
  expect_refused("set k 0 0 3 noreply x", kBadFormat, 5);
  expect_refused("set k 0 0 3 NOREPLY", kBadFormat, 5);
  expect_refused("set k 0 0 3 norepl", kBadFormat, 5);
}

TEST(Storage, AKeyMayBeCalledNoreply) {
  const ParsedLine line("set noreply 0 0 3\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->key, "noreply");
  EXPECT_FALSE(line->noreply);
  expect_refused("set noreply", kBadFormat);
}

TEST(Storage, WithoutALengthNothingIsSwallowed) {
  for (const std::string_view line :
       {"set", "set k", "set k 0", "set k 0 0", "set k 0 0 -1", "set k 0 0 x", "set k 0 0 1x", "set k 0 0 +1",
        "set k 0 0 18446744073709551616", "set k 0 0 9223372036854775807", "set k 0 0 0x3", "cas k 0 0"}) {
    expect_refused(line, kBadFormat, 0);
  }
}

TEST(Storage, AnUnknownLengthIsDistinguished) {
  for (const std::string_view line :
       {"set\r\n", "set k 0 0 -1\r\n", "cas k 0 0 x 1\r\n", "add k 0 0 x noreply\r\n"}) {
    EXPECT_TRUE(ParsedLine(line).parsed().length_unknown) << line;
  }
  for (const std::string_view line :
       {"set k x 0 3\r\n", "set k 0 0 9999999\r\n", "set k 0 0 3\r\n", "get\r\n"}) {
    EXPECT_FALSE(ParsedLine(line).parsed().length_unknown) << line;
  }
}

TEST(Storage, WithALengthEveryErrorSwallowsTheBlock) {
  const std::string overlong = "set " + overlong_key() + " 0 0 3";
  for (const std::string_view line :
       {std::string_view(overlong), std::string_view("set k\rx 0 0 3"), std::string_view("set k x 0 3"),
        std::string_view("set k -1 0 3"), std::string_view("set k 4294967296 0 3"),
        std::string_view("set k 0 x 3"), std::string_view("set k 0 9223372036854775808 3"),
        std::string_view("set k 0 0 3 4"), std::string_view("cas k 0 0 3"), std::string_view("cas k 0 0 3 x"),
        std::string_view("cas k 0 0 3 -1"), std::string_view("cas k 0 0 3 18446744073709551616"),
        std::string_view("cas k 0 0 3 1 x"), std::string_view("cas k 0 0 3 1 noreply noreply x")}) {
    expect_refused(line, kBadFormat, 5);
  }
}

TEST(Storage, NoreplySilencesErrorsToo) {
  expect_refused("set " + overlong_key() + " 0 0 3 noreply", kSilence, 5);
  expect_refused("set k x 0 3 noreply", kSilence, 5);
  expect_refused("set k 0 0 -1 noreply", kSilence);
  expect_refused("set k 0 0 noreply", kSilence);
  expect_refused("cas k 0 0 3 noreply", kSilence, 5);
  expect_refused("set k 0 0 3 x noreply", kSilence, 5);
}

TEST(Storage, ZeroLengthIsLegal) {
  const ParsedLine line("set k 0 0 0\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->value_bytes, 0U);
}

TEST(Storage, TheLongestValueIsLegalAndOneMoreIsTooLarge) {
  const ParserLimits limits{.value_bytes = 100};
  EXPECT_TRUE(ParsedLine("set k 0 0 100\r\n", limits).accepted());
  const ParsedLine line("set k 0 0 101\r\n", limits);
  EXPECT_EQ(line.parsed().what, outcome::error);
  EXPECT_EQ(line.parsed().error, kTooLarge);
  EXPECT_EQ(line.parsed().swallow, 103U);
}

TEST(Storage, TooLargeDeletesTheOldValueForSetAlone) {
  for (const std::string_view verb : {"set", "put", "add", "replace", "append", "prepend", "cas"}) {
    const ParsedLine line(std::string(verb) + " key 0 0 9999999" + (verb == "cas" ? " 1\r\n" : "\r\n"));
    EXPECT_EQ(line.parsed().error, kTooLarge) << verb;
    EXPECT_EQ(line.parsed().delete_key, verb == "set" || verb == "put") << verb;
    EXPECT_EQ(line->key, "key") << verb;
  }
}

TEST(Storage, TooLargeInSilenceStillDeletes) {
  const ParsedLine line("set key 0 0 9999999 noreply\r\n");
  EXPECT_EQ(line.parsed().what, outcome::error);
  EXPECT_EQ(line.parsed().error, kSilence);
  EXPECT_EQ(line.parsed().swallow, 10000001U);
  EXPECT_TRUE(line.parsed().delete_key);
}

TEST(Storage, AMalformedLineDeletesNothingHoweverLarge) {
  expect_refused("set key x 0 9999999", kBadFormat, 10000001);
}

TEST(Storage, TheLongestLengthCanBeSwallowed) {
  const ParsedLine line("set k 0 0 2147483645\r\n");
  EXPECT_EQ(line.parsed().error, kTooLarge);
  EXPECT_EQ(line.parsed().swallow, 2147483647U);
  expect_refused("set k 0 0 2147483646", kBadFormat, 0);
}

}  // namespace
}  // namespace mxkv::protocol

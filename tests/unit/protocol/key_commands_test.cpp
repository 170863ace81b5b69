// Commands on one key without a data block, and commands without a key: every argument and error line.
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Arithmetic, KeyAndDeltaAreGiven) {
  const ParsedLine incr("incr k 18446744073709551615\r\n");
  ASSERT_TRUE(incr.accepted());
  EXPECT_EQ(incr->op, verb::incr);
  EXPECT_EQ(incr->key, "k");
  EXPECT_EQ(incr->delta, 18446744073709551615U);
  const ParsedLine decr("decr kk 007 noreply\r\n");
  ASSERT_TRUE(decr.accepted());
  EXPECT_EQ(decr->op, verb::decr);
  EXPECT_EQ(decr->key, "kk");
  EXPECT_EQ(decr->delta, 7U);
  EXPECT_TRUE(decr->noreply);
}

TEST(Arithmetic, ABadDeltaHasItsOwnError) {
  for (const std::string_view delta : {"x", "-1", "1x", "18446744073709551616", "+1", "noreply1"}) {
    expect_refused("incr k " + std::string(delta), kBadDelta);
    expect_refused("decr k " + std::string(delta) + " noreply", kSilence);
  }
}

TEST(Arithmetic, TheKeyIsJudgedBeforeTheDelta) {
  expect_refused("incr " + overlong_key() + " x", kBadFormat);
  expect_refused("incr a\rb x", kBadFormat);
  expect_refused("incr a\rb x noreply", kSilence);
}

TEST(Arithmetic, TooFewOrTooManyWordsAreMalformed) {
  for (const std::string_view line :
       {"incr", "incr k", "decr k", "incr k 1 2", "incr k 1 noreply x", "incr noreply"}) {
    expect_refused(line, kBadFormat);
  }
  expect_refused("incr k 1 2 noreply", kSilence);
}

TEST(Touch, KeyAndTimeAreGiven) {
  const ParsedLine line("touch k -9223372036854775808\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::touch);
  EXPECT_EQ(line->key, "k");
  EXPECT_EQ(line->exptime, std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(line->noreply);
  EXPECT_TRUE(ParsedLine("touch k 0 noreply\r\n")->noreply);
}

TEST(Touch, ABadTimeHasItsOwnError) {
  expect_refused("touch k x", kBadExptime);
  expect_refused("touch k 1x", kBadExptime);
  expect_refused("touch k x noreply", kSilence);
  expect_refused("touch " + overlong_key() + " x", kBadFormat);
}

TEST(Touch, TooFewOrTooManyWordsAreMalformed) {
  for (const std::string_view line : {"touch", "touch k", "touch k 1 2"}) {
    expect_refused(line, kBadFormat);
  }
}

TEST(Delete, ANoughtAndNoreplyMayFollowTheKey) {
  for (const std::string_view text : {"delete k\r\n", "delete k 0\r\n", "delete  k  0 \r\n"}) {
    const ParsedLine line(text);
    ASSERT_TRUE(line.accepted()) << text;
    EXPECT_EQ(line->op, verb::remove);
    EXPECT_EQ(line->key, "k");
    EXPECT_FALSE(line->noreply);
  }
  EXPECT_TRUE(ParsedLine("delete k noreply\r\n")->noreply);
  EXPECT_TRUE(ParsedLine("delete k 0 noreply\r\n")->noreply);
}

TEST(Delete, AnythingElseBehindTheKeyIsRefused) {
  for (const std::string_view words : {"5", "00", "0 0", "0 x", "x", "noreply x", "noreply 0"}) {
    expect_refused("delete k " + std::string(words), kBadDelete);
  }
  expect_refused("delete k 5 noreply", kSilence);
}

TEST(Delete, ABadKeyIsMalformed) {
  expect_refused("delete", kBadFormat);
  expect_refused("delete " + overlong_key(), kBadFormat);
  expect_refused("delete a\rb noreply", kSilence);
}

TEST(Delete, AKeyMayBeCalledNoreply) {
  const ParsedLine line("delete noreply\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->key, "noreply");
  EXPECT_FALSE(line->noreply);
}

TEST(FlushAll, DelayAndNoreplyAreOptional) {
  const struct {
    std::string_view text;
    std::int64_t delay;
    bool noreply;
  } rows[] = {{"flush_all\r\n", 0, false},          {"flush_all 12\r\n", 12, false},
              {"flush_all -1\r\n", -1, false},      {"flush_all noreply\r\n", 0, true},
              {"flush_all 0 noreply\r\n", 0, true}, {"flush_all 7 noreply\r\n", 7, true},
              {"flush_all noreply \r\n", 0, true}};
  for (const auto& row : rows) {
    const ParsedLine line(row.text);
    ASSERT_TRUE(line.accepted()) << row.text;
    EXPECT_EQ(line->op, verb::flush_all);
    EXPECT_EQ(line->exptime, row.delay) << row.text;
    EXPECT_EQ(line->noreply, row.noreply) << row.text;
  }
}

TEST(FlushAll, ABadDelayHasItsOwnErrorAndSoHaveMoreWords) {
  expect_refused("flush_all x", kBadExptime);
  expect_refused("flush_all noreply 1", kBadExptime);
  expect_refused("flush_all x noreply", kSilence);
  EXPECT_TRUE(ParsedLine("flush_all 1 2\r\n").accepted()) << "one word means nothing";
  expect_refused("flush_all 1 2 3", kError);
  expect_refused("flush_all 1 2 noreply", kError);
}

TEST(Bare, VersionAndQuitTakeAnyWords) {
  EXPECT_EQ(ParsedLine("version\r\n")->op, verb::version);
  EXPECT_EQ(ParsedLine("quit\r\n")->op, verb::quit);
  EXPECT_EQ(ParsedLine("version foo noreply\r\n")->op, verb::version);
  EXPECT_FALSE(ParsedLine("version noreply\r\n")->noreply);
  EXPECT_EQ(ParsedLine("quit now\r\n")->op, verb::quit);
}

TEST(Bare, ACommandWithoutAKeyLeavesNoneOfAnEarlierOne) {
  Request request;
  LineState line;
  const std::string first = "get abc\r\n";
  const std::string second = "version\r\n";
  const Parser parser{ParserLimits{}};
  ASSERT_EQ(parser.parse(first.data(), first.size(), line, request).what, outcome::request);
  ASSERT_EQ(parser.parse(second.data(), second.size(), line, request).what, outcome::request);
  EXPECT_TRUE(request.key.empty());
}

}  // namespace
}  // namespace mxkv::protocol

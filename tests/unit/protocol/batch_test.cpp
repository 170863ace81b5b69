// mb, the lines that may stand in a batch, and the properties of lines that a batch needs to know.
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Batch, ItSaysHowManyLinesFollow) {
  const ParsedLine line("mb 3\r\nmd a\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::meta_batch);
  EXPECT_EQ(line->batch_lines, 3U);
  EXPECT_EQ(line.parsed().consumed, 6U);
  EXPECT_FALSE(is_range(line->op));
  EXPECT_FALSE(is_meta(line->op));
  EXPECT_FALSE(takes_value(line->op));
}

TEST(Batch, NoneAndTheMost) {
  EXPECT_EQ(ParsedLine("mb 0\r\n")->batch_lines, 0U);
  EXPECT_EQ(ParsedLine(" mb  4294967295 \n")->batch_lines, 4294967295U);
}

TEST(Batch, ABatchWithoutANumberGetsAnErrorAndIsClosed) {
  for (const std::string_view line : {"mb", "mb x", "mb -1", "mb +1", "mb 1x", "mb 0x1", "mb 4294967296",
                                      "mb 2 q", "mb 2 noreply", "mb 2 2"}) {
    expect_refused(line, kBadFormat);
    EXPECT_TRUE(ParsedLine(std::string(line) + "\r\n").parsed().closes) << line;
  }
}

TEST(Batch, NoOtherErrorCloses) {
  for (const std::string_view line :
       {"mg\r\n", "ms k x\r\n", "mr a v v\r\n", "foo\r\n", "\r\n", "set k\r\n"}) {
    const ParsedLine parsed(line);
    EXPECT_EQ(parsed.parsed().what, outcome::error) << line;
    EXPECT_FALSE(parsed.parsed().closes) << line;
  }
}

TEST(Batch, HasOnlyMetaCommands) {
  for (unsigned op = 0; op < kCommands; ++op) {
    const auto which = static_cast<verb>(op);
    const bool may = which == verb::meta_get || which == verb::meta_set || which == verb::meta_delete ||
                     which == verb::meta_arithmetic;
    EXPECT_EQ(may_stand_in_batch(which), may) << op;
  }
}

TEST(Batch, AValueOfUnknownLengthIsDistinguished) {
  for (const std::string_view line : {"ms\r\n", "ms k\r\n", "ms k x\r\n", "ms k -1\r\n", "ms k T30\r\n",
                                      "ms k 2147483646\r\n", "ms k 99999999999999999999 q\r\n"}) {
    EXPECT_TRUE(ParsedLine(line).parsed().length_unknown) << line;
    EXPECT_EQ(ParsedLine(line).parsed().swallow, 0U) << line;
  }
  // The block is swallowed, or there is none.
  for (const std::string_view line : {"ms k 3 ?\r\n", "ms k 3 MX\r\n", "ms ?? 3 b\r\n", "ms k 9999999\r\n",
                                      "ms k 3\r\n", "mg\r\n", "md k q q\r\n", "foo\r\n"}) {
    EXPECT_FALSE(ParsedLine(line).parsed().length_unknown) << line;
  }
}

}  // namespace
}  // namespace mxkv::protocol

// Framing, unknown commands and the end of data blocks.
#include "protocol/parser.hpp"

#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Parser, NothingNeedsMore) {
  EXPECT_EQ(ParsedLine("").parsed().what, outcome::need_more);
  EXPECT_EQ(ParsedLine("get a\r").parsed().what, outcome::need_more);
}

TEST(Parser, ALineEndsAtLineFeedWithOrWithoutCarriageReturn) {
  const ParsedLine bare("get a\nget b\n");
  EXPECT_EQ(bare.parsed().consumed, 6U);
  EXPECT_EQ(bare->keys, "a");
  const ParsedLine both("get a\r\nget b\n");
  EXPECT_EQ(both.parsed().consumed, 7U);
  EXPECT_EQ(both->keys, "a");
  expect_refused("get a\r", kBadFormat);
}

TEST(Parser, SpacesInFrontAreSkipped) {
  EXPECT_EQ(ParsedLine("  get a\r\n")->key, "a");
}

TEST(Parser, AnEmptyLineIsMalformed) {
  expect_refused("", kBadFormat);
  expect_refused("   ", kBadFormat);
  EXPECT_EQ(ParsedLine("\n").parsed().error, kBadFormat);
}

TEST(Parser, UnknownCommandsAreErrors) {
  for (const std::string_view line :
       {"foo", "foo bar", "GET a", "Get a", "ge a", "geta", "getsx a", "flush_al", "flush_allx", "verbosit",
        "verbosity1 1", "prependx k 0 0 1", "noreply", "foo noreply", "mg", "mz a", "get\ta", "\x7f"}) {
    expect_refused(line, kError);
  }
  expect_refused(std::string("get\0 a", 6), kError);
  expect_refused(std::string("\0\0\0", 3), kError);
}

TEST(Parser, ABrowserIsLeftWithoutAnAnswer) {
  for (const std::string_view line :
       {"GET / HTTP/1.1\r\n", "POST /x HTTP/1.0 \r\n", "HTTP/\r\n", "x HTTP/\n"}) {
    EXPECT_EQ(ParsedLine(line).parsed().what, outcome::close) << line;
  }
  EXPECT_TRUE(ParsedLine("get HTTP/1.1\r\n").accepted());
  EXPECT_EQ(ParsedLine("GET HTTP/1.1 x\r\n").parsed().error, kError);
}

TEST(Parser, ALineMayBeginWithAnyByte) {
  for (const std::string_view line : {"\x80", "\x81", "\x80\x01 k", "\x16\x03\x01"}) {
    expect_refused(line, kError);
  }
}

TEST(WireProtocol, TheFirstBytesTellIt) {
  for (const auto& [first, spoken] : {std::pair{"\x80", wire_protocol::binary},
                                      {"\x80get k\r\n", wire_protocol::binary},
                                      {"\x16\x03", wire_protocol::tls},
                                      {"\x16\x03\x01", wire_protocol::tls},
                                      {"\x16", wire_protocol::undecided},
                                      {"\x16\r", wire_protocol::text},
                                      {"\x81", wire_protocol::text},
                                      {"g", wire_protocol::text},
                                      {"\r\n", wire_protocol::text}}) {
    EXPECT_EQ(protocol_of(first), spoken) << first;
  }
}

TEST(Parser, TooLongALineCloses) {
  EXPECT_EQ(ParsedLine(std::string(2047, 'x')).parsed().what, outcome::need_more);
  EXPECT_EQ(ParsedLine(std::string(2047, 'x') + "\n").parsed().error, kError);
  EXPECT_EQ(ParsedLine(std::string(2048, 'x')).parsed().what, outcome::close);
  EXPECT_EQ(ParsedLine("set " + std::string(3000, 'k') + " 0 0 1\r\n").parsed().what, outcome::close);
}

TEST(Parser, ARefusedLineDoesNotHinderTheNext) {
  Request request;
  LineState line;
  const Parser parser{ParserLimits{}};
  std::string_view stream = "foo\r\nset k x 0 0 noreply\r\n\r\nset k 0 0 0\r\n";
  std::size_t requests = 0;
  while (!stream.empty()) {
    const Parsed parsed = parser.parse(stream.data(), stream.size(), line, request);
    ASSERT_NE(parsed.what, outcome::need_more);
    requests += parsed.what == outcome::request ? 1 : 0;
    stream.remove_prefix(parsed.consumed + parsed.swallow);
  }
  EXPECT_EQ(requests, 1U);
  EXPECT_FALSE(request.noreply);
}

TEST(Parser, TheStateOfALineIsClearAfterEachLine) {
  Request request;
  LineState line;
  const Parser parser{ParserLimits{}};
  const std::string text = "get abc\r\n";
  EXPECT_EQ(parser.parse(text.data(), 5, line, request).what, outcome::need_more);
  EXPECT_EQ(line.searched, 5U);
  EXPECT_EQ(parser.parse(text.data(), text.size(), line, request).what, outcome::request);
  EXPECT_EQ(line.searched, 0U);
}

TEST(DataBlockEnd, TheTwoBytesMayComeOneAtATime) {
  DataBlockEnd whole;
  EXPECT_EQ(whole.feed("\r\nget"), 2U);
  EXPECT_TRUE(whole.complete());
  EXPECT_TRUE(whole.good());
  DataBlockEnd split;
  EXPECT_EQ(split.feed(""), 0U);
  EXPECT_EQ(split.feed("\r"), 1U);
  EXPECT_FALSE(split.complete());
  EXPECT_EQ(split.feed("\nx"), 1U);
  EXPECT_TRUE(split.complete());
  EXPECT_TRUE(split.good());
}

TEST(DataBlockEnd, AnyOtherTwoBytesAreTakenAndBad) {
  for (const std::string_view bytes : {"\n\n", "\r\r", "ab", "\n\r", "a\n", "\ra"}) {
    DataBlockEnd end;
    EXPECT_EQ(end.feed(bytes), 2U);
    EXPECT_TRUE(end.complete());
    EXPECT_FALSE(end.good()) << bytes;
  }
}

}  // namespace
}  // namespace mxkv::protocol

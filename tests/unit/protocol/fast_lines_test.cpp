// The short way must give the same results as the long one, so that no client can tell which way a line went.
#include "protocol/fast_lines.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/protocol/transcript.hpp"

namespace mxkv::protocol {
namespace {

const ParserLimits kLimits{.value_bytes = 1000, .line_bytes = 100, .get_line_bytes = 200};

/// The result of one way for the line at the front of `text`; the bytes have a heap block of their own.
struct OneWay {
  explicit OneWay(std::string_view text) : bytes(std::make_unique<char[]>(text.size())), size(text.size()) {
    text.copy(bytes.get(), size);
  }

  std::unique_ptr<char[]> bytes;
  std::size_t size;
  Request request;
};

std::size_t short_way(OneWay& way) {
  return parse_fast_line(way.bytes.get(), way.size, kLimits, way.request);
}

/// A line that was searched before is never tried the short way.
Parsed long_way(OneWay& way) {
  LineState searched{1};
  return Parser(kLimits).parse(way.bytes.get(), way.size, searched, way.request);
}

/// Checks that the ways agree on `text`; returns whether the short one took it.
bool short_way_takes(const std::string& text) {
  OneWay first(text);
  OneWay second(text);
  const std::size_t consumed = short_way(first);
  if (consumed == 0) {
    return false;
  }
  const Parsed parsed = long_way(second);
  EXPECT_EQ(parsed.what, outcome::request) << text;
  EXPECT_EQ(parsed.consumed, consumed) << text;
  EXPECT_EQ(describe(second.request), describe(first.request)) << text;
  return true;
}

const std::string kLongestKey(kMaxKeyBytes, 'k');
const std::string kKey90(90, 'k');

TEST(FastLines, AreTaken) {
  for (const std::string line : {"get abc\r\n",
                                 "get abcd\n",
                                 "gets a\r\n",
                                 "gets a bc def ghij\r\n",
                                 "get a a a\r\n",
                                 "get noreply\r\n",
                                 "get \x80\xff\xfe z\r\n",
                                 "set k 0 0 0\r\n",
                                 "set key 1 2 3\n",
                                 "set key 1234567 2592000 999\r\n",
                                 "set key 0000001 0 1000\r\n",
                                 "set key 5 6 7 noreply\r\n",
                                 "set key 5 6 7 noreply\n",
                                 "add key 1 2 3\r\n",
                                 "replace key 1 2 3\r\n",
                                 "append key 1 2 3 noreply\r\n",
                                 "prepend key 0 0 0\n",
                                 "incr key 1\r\n",
                                 "decr key 1234567 noreply\r\n",
                                 "touch key 0\r\n",
                                 "touch key 100 noreply\n",
                                 "delete key\r\n",
                                 "delete k\n",
                                 "delete key noreply\r\n",
                                 "scan key 100\r\n",
                                 "scans k 1\n",
                                 "scan ;- 0000001\r\n",
                                 "pscan user 9999999\r\n",
                                 "pscans -[ 1\r\n",
                                 "pscan + 5\n"}) {
    EXPECT_TRUE(short_way_takes(line)) << line;
    EXPECT_TRUE(short_way_takes(line + "get z\r\nmore")) << line << "with more behind it";
  }
}

TEST(FastLines, UnusualOrWrongLinesAreLeftToTheGeneralParser) {
  for (const std::string line : {"",
                                 "g",
                                 "get a\r\n",
                                 "foo bar baz\r\n",
                                 "gat 0 abc\r\n",
                                 "get  abc\r\n",
                                 " get abc\r\n",
                                 "get abc \r\n",
                                 "get abc  d\r\n",
                                 "get \r\n......",
                                 "get\r\n......",
                                 "getx abc\r\n",
                                 "getsx abc\r\n",
                                 "get ab\x01\r\n",
                                 "get ab\x7f\r\n",
                                 "get abc\r\r\n",
                                 "get abc\rd\r\n",
                                 "setx k 0 0 0\r\n",
                                 "set  k 0 0 0\r\n",
                                 "set k  0 0 0\r\n",
                                 "set k 0 0\r\n",
                                 "set k 0 0 \r\n",
                                 "set k 0 0 1 \r\n",
                                 "set k 0 0 1 2\r\n",
                                 "set k -1 0 1\r\n",
                                 "set k 0 -1 1\r\n",
                                 "set k 0 0 -1\r\n",
                                 "set k 12345678 0 1\r\n",
                                 "set k 0 12345678 1\r\n",
                                 "set k 0 0 00000001\r\n",
                                 "set k x 0 1\r\n",
                                 "set k 0x 0 1\r\n",
                                 "set k 0 0 1x\r\n",
                                 "set k 0 0 1001\r\n",
                                 "set k 0 0 1 noreply \r\n",
                                 "set k 0 0 1 noreplyx\r\n",
                                 "set k 0 0 1 norepl\r\n",
                                 "set k 0 0 1\r\r\n",
                                 "put k 0 0 1\r\n",
                                 "cas k 0 0 1 5\r\n",
                                 "append k 0 0 1001\r\n",
                                 "delete  k\r\n",
                                 "delete k 0\r\n",
                                 "delete k 0 noreply\r\n",
                                 "delete k noreplyx\r\n",
                                 "delete \r\n",
                                 "deletes k\r\n",
                                 "incr key\r\n",
                                 "incr key \r\n",
                                 "incr key -1\r\n",
                                 "incr key 12345678\r\n",
                                 "incr key 1 2\r\n",
                                 "touch key -1\r\n",
                                 "touch key x\r\n",
                                 "scan key 0\r\n",
                                 "scan key x\r\n",
                                 "scan key\r\n",
                                 "scan key 1 \r\n",
                                 "scan key 1 keys\r\n",
                                 "scan key [z 1\r\n",
                                 "scan - 10\r\n",
                                 "scan + 10\r\n",
                                 "scan (key 10\r\n",
                                 "scan [key 10\r\n",
                                 "scan cursor=AAAA 10\r\n",
                                 "pscan cursor=AAAA 10\r\n",
                                 "pscan key 12345678\r\n",
                                 "stats items\r\n",
                                 "prepends k 0 0 1\r\n"}) {
    EXPECT_FALSE(short_way_takes(line)) << line;
  }
}

TEST(FastLines, ALineWithoutItsEndIsLeftToTheLongWay) {
  for (const std::string line : {"get abcdefgh ijkl\r\n", "gets abc\r\n", "set key 1 22 333 noreply\r\n",
                                 "delete key noreply\r\n", "incr key 12 noreply\r\n", "scan key 12\r\n"}) {
    for (std::size_t bytes = 0; bytes < line.size(); ++bytes) {
      EXPECT_FALSE(short_way_takes(line.substr(0, bytes))) << line << bytes;
    }
  }
}

TEST(FastLines, KeysAndLinesMayBeAsLongAsElsewhere) {
  ParserLimits limits;
  const auto taken = [&limits](const std::string& line) {
    Request request;
    return parse_fast_line(line.data(), line.size(), limits, request) == line.size();
  };
  EXPECT_TRUE(taken("get " + kLongestKey + "\r\n"));
  EXPECT_FALSE(taken("get " + kLongestKey + "k\r\n"));
  EXPECT_TRUE(taken("set " + kLongestKey + " 0 0 1\r\n"));
  EXPECT_FALSE(taken("set " + kLongestKey + "k 0 0 1\r\n"));
  EXPECT_FALSE(taken("get a " + kLongestKey + "k\r\n"));
  EXPECT_FALSE(taken("get " + kLongestKey + "k a\r\n"));
  limits = {.value_bytes = 1000, .line_bytes = 100, .get_line_bytes = 186};
  EXPECT_TRUE(taken("get " + kKey90 + " " + kKey90 + "\n"));
  EXPECT_FALSE(taken("get " + kKey90 + " " + kKey90 + "\r\n"));
  EXPECT_TRUE(taken("set " + kKey90.substr(2) + " 0 0 1\r\n"));
  EXPECT_FALSE(taken("set " + kKey90.substr(1) + " 0 0 1\r\n"));
}

TEST(FastLines, WithOneByteChangedEveryLineIsTheSameBothWays) {
  std::size_t taken = 0;
  std::size_t left = 0;
  for (const std::string line :
       {"get abcdefghi jk lmn\r\nget b\r\n", "gets abc d\nz", "set key 12 345 67\r\nvalue",
        "set k 1 0 9 noreply\r\n...", "replace key 1 2 3\r\n", "delete key noreply\r\n", "incr key 12\r\n",
        "touch key 34 noreply\r\n", "scan start 12\r\n", "pscans start 12\r\n"}) {
    for (std::size_t at = 0; at < line.size(); ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string changed = line;
        changed[at] = static_cast<char>(byte);
        ++(short_way_takes(changed) ? taken : left);
      }
    }
  }
  EXPECT_GT(taken, 1000U);
  EXPECT_GT(left, 1000U);
}

}  // namespace
}  // namespace mxkv::protocol

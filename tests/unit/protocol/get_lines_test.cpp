// Lines that are taken together are lines that the parser would take one by one, with the same keys.
#include "protocol/get_lines.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/parser.hpp"

namespace mxkv::protocol {
namespace {

const ParserLimits kGetLimits{.value_bytes = 1000, .line_bytes = 100, .get_line_bytes = 200};
constexpr std::size_t kMostTaken = 64;

/// A copy with a heap block of its own, so that a sanitizer sees a step too far.
struct Block {
  explicit Block(std::string_view text) : bytes(std::make_unique<char[]>(text.size())), size(text.size()) {
    text.copy(bytes.get(), size);
  }
  std::unique_ptr<char[]> bytes;
  std::size_t size;
};

/// Takes the lines that it can, checks them against the parser line by line, and returns them.
GetLines taken_of(const std::string& text, std::size_t most_keys = kMostTaken,
                  std::size_t most_lines = kMostTaken) {
  const Block block(text);
  std::vector<AskedKey> keys(most_keys);
  const GetLines taken = take_get_lines(block.bytes.get(), block.size, kGetLimits, keys, most_lines);
  EXPECT_LE(taken.keys, most_keys);
  EXPECT_LE(taken.lines, most_lines);
  std::size_t at = 0;
  std::size_t key = 0;
  for (std::size_t line = 0; line < taken.lines; ++line) {
    LineState state{1};  // searched before: it goes the long way
    Request request;
    const Parsed parsed = Parser(kGetLimits).parse(block.bytes.get() + at, block.size - at, state, request);
    EXPECT_EQ(parsed.what, outcome::request) << text;
    if (request.op == verb::meta_get) {
      const MetaFlags& flags = request.meta;
      EXPECT_TRUE(flags.value && !flags.quiet && !flags.no_bump && !flags.binary_key &&
                  flags.wants().empty());
      EXPECT_EQ(keys[key].view(), request.key) << text;
      EXPECT_TRUE(keys[key].meta() && keys[key].ends_line()) << text;
      ++key;
      at += parsed.consumed;
      continue;
    }
    EXPECT_EQ(request.op, verb::get) << text;
    std::string_view left = request.keys;
    for (std::uint32_t i = 0; i < request.key_count && key < taken.keys; ++i, ++key) {
      EXPECT_EQ(keys[key].view(), next_key(left)) << text;
      EXPECT_EQ(keys[key].ends_line(), i + 1 == request.key_count) << text;
      EXPECT_FALSE(keys[key].meta()) << text;
    }
    at += parsed.consumed;
  }
  EXPECT_EQ(at, taken.consumed) << text;
  EXPECT_EQ(key, taken.keys) << text;
  return taken;
}

const std::string kLongestOfGet(kMaxKeyBytes, 'k');

TEST(GetLines, AreTakenUntilTheFirstThatIsUnusual) {
  EXPECT_EQ(taken_of("get a\r\nget bc\r\nget def ghi\r\n").lines, 3U);
  EXPECT_EQ(taken_of("get a\r\nget bc\r\nget def ghi\r\n").keys, 4U);
  EXPECT_EQ(taken_of("get 0123456789abcdef0123456789\r\nget 0123456789abcdef0123456789abcdefg\r\n").lines,
            2U);
  EXPECT_EQ(taken_of("get \x80\xff\xfe z\r\n").keys, 2U);
  for (const std::string line :
       {"gets a\r\n", "set a 0 0 1\r\nx\r\n", "get  a\r\n", "get a \r\n", "get a  b\r\n", "get \r\n......",
        "get\r\n......", "get a\x01\r\n", "get a\x7f\r\n", "get a\n", "get a\rb\r\n", "get a\r\r\n", "mn\r\n",
        "GET a\r\n", "\x80....", "gat 0 a\r\n"}) {
    EXPECT_EQ(taken_of(line).lines, 0U) << line;
    EXPECT_EQ(taken_of("get some\r\n" + line + "get more\r\n").consumed, 10U) << line;
  }
}

TEST(GetLines, OfMetaCommandsAreTakenThatAskForTheValueAlone) {
  EXPECT_EQ(taken_of("mg a v\r\nget b\r\nmg 0123456789abcdef0123456789abcdef012345 v\r\nget a b\r\n").lines,
            4U);
  for (const std::string line :
       {"mg a\r\n", "mg a v \r\n", "mg a  v\r\n", "mg  a v\r\n", "mg a v q\r\n", "mg a t v\r\n",
        "mg a vv\r\n", "mg a v\n", "mg  v\r\n....", "ms a 1\r\nv\r\n", "mga a v\r\n"}) {
    EXPECT_EQ(taken_of(line).lines, 0U) << line;
    EXPECT_EQ(taken_of("mg some v\r\n" + line + "mg more v\r\n").consumed, 11U) << line;
  }
  EXPECT_EQ(taken_of("mg a v\r\nmg b v\r\n", 1).consumed, 8U);
  EXPECT_EQ(taken_of("mg a v\r\nmg b v\r\n", kMostTaken, 1).consumed, 8U);
  const std::string text = "mg one v\r\n";
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_EQ(taken_of(text.substr(0, bytes)).lines, 0U);
  }
  EXPECT_EQ(taken_of("mg " + std::string(94, 'k') + " v\r\n").lines, 0U) << "longer than a line may be";
  EXPECT_EQ(taken_of("mg " + std::string(93, 'k') + " v\r\n").lines, 1U);
}

TEST(GetLines, ALineIsTakenWholeOrNotAtAll) {
  const std::string text = "get one\r\nget abcdefgh ijkl mn\r\nget z\r\n";
  EXPECT_EQ(taken_of(text, 3).keys, 1U);
  EXPECT_EQ(taken_of(text, 4).keys, 4U);
  EXPECT_EQ(taken_of(text, 0).keys, 0U);
  EXPECT_EQ(taken_of(text, kMostTaken, 0).lines, 0U);
  EXPECT_EQ(taken_of(text, kMostTaken, 2).lines, 2U);
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_EQ(taken_of(text.substr(0, bytes)).lines, bytes < 9 ? 0U : bytes < 31 ? 1U : bytes < 38 ? 2U : 3U);
  }
}

TEST(GetLines, KeysAndLinesMayBeAsLongAsElsewhere) {
  std::vector<AskedKey> keys(kMostTaken);
  const auto taken = [&keys](const std::string& line, std::size_t most) {
    return take_get_lines(line.data(), line.size(), {.get_line_bytes = most}, keys, kMostTaken).lines == 1;
  };
  EXPECT_TRUE(taken("get " + kLongestOfGet + "\r\n", 1000));
  EXPECT_TRUE(taken("get " + kLongestOfGet + " " + kLongestOfGet + "\r\n", 1000));
  EXPECT_FALSE(taken("get " + kLongestOfGet + "k\r\n", 1000));
  EXPECT_FALSE(taken("get a " + kLongestOfGet + "k\r\n", 1000));
  EXPECT_TRUE(taken("get abcd\r\n", 10));
  EXPECT_FALSE(taken("get abcd\r\n", 9));
}

TEST(GetLines, WithOneByteChangedTheyAreStillWhatTheParserSays) {
  const std::string text =
      "get abcdefghi\r\nmg jklm v\r\nget jk lmn\r\nget 0123456789abcdef0123456789abcdef012345678\r\n";
  std::size_t fewer = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      fewer += taken_of(changed).lines < 4 ? 1 : 0;
    }
  }
  EXPECT_GT(fewer, 1000U);
}

}  // namespace
}  // namespace mxkv::protocol

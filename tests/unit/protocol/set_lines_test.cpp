// Sets that are taken together are sets that the parser would take one by one, with the same keys and values.
#include "protocol/set_lines.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

const ParserLimits kSetLimits{.value_bytes = 1000, .line_bytes = 100};
constexpr std::size_t kMostValue = 500;

/// Takes the sets that it can, checks them against the parser line by line, and returns how many it took.
std::size_t sets_of(const std::string& text, std::size_t most = 16) {
  // A heap block of its own, so that a sanitizer sees a step too far.
  const auto block = std::make_unique<char[]>(text.size());
  text.copy(block.get(), text.size());
  std::vector<SentValue> values(most);
  const std::size_t taken = take_set_lines(block.get(), text.size(), kSetLimits, kMostValue, values);
  EXPECT_LE(taken, most);
  std::size_t at = 0;
  for (std::size_t i = 0; i < taken; ++i) {
    const SentValue& sent = values[i];
    LineState state{1};  // searched before: it goes the long way
    Request request;
    const Parsed parsed = Parser(kSetLimits).parse(block.get() + at, text.size() - at, state, request);
    EXPECT_EQ(parsed.what, outcome::request) << text;
    EXPECT_EQ(request.op, sent.meta ? verb::meta_set : verb::set) << text;
    EXPECT_EQ(request.key, sent.key()) << text;
    EXPECT_EQ(request.value_bytes, sent.data_bytes) << text;
    EXPECT_EQ(request.flags, 0U) << text;
    EXPECT_EQ(request.exptime, 0) << text;
    EXPECT_FALSE(request.noreply) << text;
    if (sent.meta) {
      EXPECT_TRUE(request.meta.wants().empty() && !request.meta.quiet && !request.meta.binary_key &&
                  request.meta.mode == 0 && request.meta.cas == 0 && !request.meta.invalidate)
          << text;
    }
    at += parsed.consumed;
    EXPECT_EQ(sent.data, block.get() + at) << text;
    EXPECT_EQ(std::string_view(sent.data + sent.data_bytes, 2), kCrLf) << text;
    at += sent.data_bytes + kCrLf.size();
    EXPECT_EQ(sent.end(), block.get() + at) << text;
  }
  return taken;
}

TEST(SetLines, AreTakenUntilTheFirstThatIsUnusual) {
  const std::string some = "set a 0 0 1\r\nx\r\n";
  EXPECT_EQ(sets_of(some), 1U);
  EXPECT_EQ(sets_of("ms a 1\r\nx\r\n" + some + "ms 0123456789abcdef0123456789abcdef0123 0\r\n\r\n" + some),
            4U);
  EXPECT_EQ(sets_of("set a 0 0 0100\r\n" + std::string(100, '\n') + "\r\n" + some), 2U);
  EXPECT_EQ(sets_of(some + some + some, 2), 2U);
  EXPECT_EQ(sets_of(some, 0), 0U);
  for (const std::string line : {"set a 1 0 1\r\nx\r\n",
                                 "set a 0 1 1\r\nx\r\n",
                                 "set a 0 0 1 noreply\r\nx\r\n",
                                 "set a 0 0 \r\nx\r\n",
                                 "set a 0 0 1\nx\r\n",
                                 "set a 0 0 1\r\nxx\r\n",
                                 "set a 0 0 2\r\nx\r\n",
                                 "set a 0 0 -1\r\nx\r\n",
                                 "set  a 0 0 1\r\nx\r\n",
                                 "set a 00 0 1\r\nx\r\n",
                                 "set a 0 0 1x\r\nx\r\n",
                                 "set a 0 0 1\r\nx\n\r",
                                 "set a\x01 0 0 1\r\nx\r\n",
                                 "put a 0 0 1\r\nx\r\n",
                                 "ms a 1 c\r\nx\r\n",
                                 "ms a  1\r\nx\r\n",
                                 "ms a 1 \r\nx\r\n",
                                 "ms a\r\nx\r\n......",
                                 "ms  1\r\nx\r\n....",
                                 "ms a S1\r\nx\r\n",
                                 "add a 0 0 1\r\nx\r\n",
                                 "get a\r\n",
                                 "mn\r\n",
                                 "\x80........"}) {
    EXPECT_EQ(sets_of(line), 0U) << line;
    EXPECT_EQ(sets_of(some + line + some), 1U) << line;
  }
}

TEST(SetLines, OfAnyLengthAreTakenWhenTheyAreWhole) {
  for (const std::string line : {"set key 0 0 ", "ms 0123456789abcdef0123456789abcdef0123 "}) {
    for (const std::size_t bytes : {0U, 1U, 2U, 9U, 10U, 99U, 100U, 499U, 500U}) {
      const std::string text = line + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n";
      EXPECT_EQ(sets_of(text), 1U) << bytes;
      for (std::size_t part = 0; part < text.size(); ++part) {
        EXPECT_EQ(sets_of(text.substr(0, part)), 0U) << bytes;
      }
    }
    EXPECT_EQ(sets_of(line + "501\r\n" + std::string(501, 'v') + "\r\n"), 0U);
    EXPECT_EQ(sets_of(line + "00000001\r\nv\r\n"), 0U) << "more digits than are looked at";
  }
  EXPECT_EQ(sets_of("set " + std::string(87, 'k') + " 0 0 1\r\nv\r\n"), 1U);
  EXPECT_EQ(sets_of("set " + std::string(88, 'k') + " 0 0 10\r\n0123456789\r\n"), 0U) << "too long a line";
}

TEST(SetLines, WithOneByteChangedTheyAreStillWhatTheParserSays) {
  const std::string text =
      "set abcdefghi 0 0 3\r\nabc\r\nms 0123456789abcdef0123456789abcdef012345678 12\r\nabcdefghijkl\r\n";
  std::size_t fewer = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      fewer += sets_of(changed) < 2 ? 1 : 0;
    }
  }
  EXPECT_GT(fewer, 1000U);
}

}  // namespace
}  // namespace mxkv::protocol

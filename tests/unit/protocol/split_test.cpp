// The same requests come out of a stream however it is cut.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/protocol/transcript.hpp"

namespace mxkv::protocol {
namespace {

constexpr ParserLimits kSmall{.value_bytes = 64, .line_bytes = 100, .get_line_bytes = 200};

const std::string& stream() {
  static const std::string text =
      "get a\r\nget key:1 key:22  key:333 \nset k 1 2 5\r\nhello\r\nset k 1 2 5 noreply\r\nhe\r\no\r\n"
      "cas key 0 -1 3 12345678901\r\nabcXYadd k 0 0 0\r\n\r\nincr counter 99\r\ndecr counter 1 noreply\r\n"
      "set big 0 0 70\r\n" +
      std::string(70, 'x') +
      "\r\nset k x 0 3\r\nabc\r\nset k 0 0 -1\r\n\r\nfoo\r\n"
      "delete k 0 noreply\r\ntouch k 100\r\ngat 5 a b\r\nscan [a (b 10 reverse keys\r\nscan - 5\r\n"
      "pscans pre 10 bytes=100 cursor\r\nscan [YWJj 7 base64\r\nstats items\r\nversion\r\nflush_all "
      "5\r\nverbosity 1\r\n"
      "mg k v O12 q\r\nms k 5 c F7 T30\r\nhello\r\nms Zm9v 2 b MA N9\r\nxxyyms k 70 c\r\n" +
      std::string(70, 'y') +
      "\r\nms k 3 zz\r\nabc\r\nms k -1\r\nmd k I T5 x\r\nma k N0 J13 D5 MD v\r\nme k\r\nmg k v v\r\n"
      "mg !! b\r\nmn\r\n"
      "get " +
      std::string(150, 'k') + " b\r\nget a\tb\r\nquit\r\n";
  return text;
}

std::vector<std::string> in_one() {
  return transcript(stream(), kSmall, [](std::size_t left) { return left; });
}

TEST(Split, TheWholeStreamGivesItsRequests) {
  const std::vector<std::string> notes = in_one();
  ASSERT_EQ(notes.size(), 45U);
  EXPECT_EQ(notes[0], "verb 0 key a count 1 a");
  EXPECT_EQ(notes[1], "verb 0 key key:1 count 3 key:1 key:22 key:333");
  EXPECT_EQ(notes[7], "bad block");
  EXPECT_EQ(notes.back(), "verb " + std::to_string(static_cast<int>(verb::quit)) + " key ");
}

TEST(Split, EverySplitInTwoGivesTheSame) {
  const std::vector<std::string> expected = in_one();
  for (std::size_t at = 1; at < stream().size(); ++at) {
    const auto cut = [at](std::size_t left) { return left == stream().size() ? at : left; };
    ASSERT_EQ(transcript(stream(), kSmall, cut), expected) << at;
  }
}

TEST(Split, PiecesOfAnyOneSizeGiveTheSame) {
  const std::vector<std::string> expected = in_one();
  for (std::size_t bytes = 1; bytes < 100; ++bytes) {
    ASSERT_EQ(transcript(stream(), kSmall, [bytes](std::size_t) { return bytes; }), expected) << bytes;
  }
}

TEST(Split, AnEndWithinALineOrABlockGivesOnlyWhatWasWhole) {
  std::size_t most = 0;
  for (std::size_t bytes = 0; bytes <= stream().size(); ++bytes) {
    const std::vector<std::string> notes =
        transcript(std::string_view(stream()).substr(0, bytes), kSmall, [](std::size_t) { return 1; });
    ASSERT_GE(notes.size(), most);
    most = notes.size();
    const std::vector<std::string> expected = in_one();
    ASSERT_TRUE(std::equal(notes.begin(), notes.end(), expected.begin())) << bytes;
  }
  EXPECT_EQ(most, in_one().size());
}

TEST(Split, TooLongALineClosesHoweverItIsCut) {
  for (const std::string& line : {std::string(100, 'x') + "\n", "get " + std::string(300, 'x') + "\n"}) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{7}, std::size_t{99}, std::size_t{100}, std::size_t{1000}}) {
      const std::vector<std::string> notes = transcript(line, kSmall, [bytes](std::size_t) { return bytes; });
      EXPECT_EQ(notes, std::vector<std::string>{"close"}) << bytes;
    }
  }
}

}  // namespace
}  // namespace mxkv::protocol

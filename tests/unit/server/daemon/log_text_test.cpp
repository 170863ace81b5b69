// A message stays one line and one JSON string, whatever is in it.
#include "server/daemon/log_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

TEST(PlainText, ShowsControlCharacters) {
  EXPECT_EQ(plain_text("one\r\ntwo\t3 \x1b[31m\x7f" + std::string(1, '\0')),
            "one\\x0d\\ntwo\\t3 \\x1b[31m\\x7f\\x00");
  EXPECT_EQ(plain_text("schön \"quoted\" \\"), "schön \"quoted\" \\");
}

TEST(JsonText, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(json_text("a\"b\\c\nd\x01\x7f"), "a\\\"b\\\\c\\u000ad\\u0001\\u007f");
  EXPECT_EQ(json_text(""), "");
}

TEST(JsonText, KeepsGoodUtf8) {
  for (const char* text : {"ä", "\u0800", "€", "\U00010000", "\U0010ffff"}) {
    EXPECT_EQ(json_text(text), text);
  }
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_text("a\x80z"), "a\\ufffdz");                               // a byte that only follows
  EXPECT_EQ(json_text("\xc0\xaf"), "\\ufffd\\ufffd");                        // overlong
  EXPECT_EQ(json_text("\xe0\x80\x80"), "\\ufffd\\ufffd\\ufffd");             // overlong
  EXPECT_EQ(json_text("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");             // a surrogate
  EXPECT_EQ(json_text("\xf4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");  // beyond U+10FFFF
  EXPECT_EQ(json_text("\xe2\x82"), "\\ufffd\\ufffd");                        // cut at the end
  EXPECT_EQ(json_text("\xff"), "\\ufffd");
}

TEST(JsonText, OfRandomBytesHasNoQuoteOrControlCharacterOfItsOwn) {
  runtime::Random random{7};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t i = random() % 40; i > 0; --i) {
      text += static_cast<char>(random());
    }
    const std::string json = json_text(text);
    for (std::size_t i = 0; i < json.size(); ++i) {
      ASSERT_GE(static_cast<unsigned char>(json[i]), 0x20);
      ASSERT_NE(json[i], '"') << "unless it is escaped, which the skip below takes along";
      if (json[i] == '\\') {
        ++i;
        ASSERT_LT(i, json.size());
        ASSERT_NE(std::string{"\"\\u"}.find(json[i]), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::server

// A message stays one line and one JSON string, whatever its contents.
#include "server/daemon/log_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

TEST(JsonText, EscapesTheCharactersThatJsonWantsEscaped) {
  EXPECT_EQ(json_text("a\"b\\c\nd\x01"), "a\\\"b\\\\c\\nd\\u0001");
  EXPECT_EQ(json_text(""), "");
}

TEST(JsonText, EscapesBytesThatATerminalObeys) {
  EXPECT_EQ(json_text("a\u009b31m\x7f é"), "a\\u009b31m\\u007f \\u00e9");
}

TEST(JsonText, KeepsGoodUtf8) {
  for (const char* text : {"ä", "\u0800", "€", "\U00010000", "\U0010ffff"}) {
    EXPECT_EQ(json_text(text), text);
  }
}

TEST(JsonText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(json_text("a\x80z"), "a\ufffdz");  // a byte that only follows
  for (const char* text :
       {"\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"}) {
    const std::string json = json_text(text);  // overlong, a surrogate, beyond U+10FFFF, cut at the end
    EXPECT_TRUE(json.starts_with("\ufffd")) << text;
    EXPECT_EQ(json.find_first_of("\x80\xa0\xc0\xe0\xe2\xed\xf4\xff"), std::string::npos) << text;
  }
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
        ASSERT_NE(std::string{"\"\\ubfnrt"}.find(json[i]), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::server

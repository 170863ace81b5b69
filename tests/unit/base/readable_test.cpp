// Text from outside, as it is shown to people.
#include "runtime/base/readable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::runtime {
namespace {

TEST(Readable, Utf8IsWhatItIsAndNothingElse) {
  for (const char* const text : {"", "a", "é", "€", "😀", "\x7f"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* const text : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82", "a\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << readable(text);
  }
}

TEST(Readable, NoByteThatATerminalObeysComesOut) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string shown = readable(std::string{static_cast<char>(first), static_cast<char>(second)});
      EXPECT_TRUE(is_readable(shown)) << first << ' ' << second;
      EXPECT_TRUE(is_utf8(shown)) << first << ' ' << second;
      EXPECT_EQ(readable(shown), shown) << "escaping once more changes nothing";
    }
  }
}

TEST(Readable, ControlsDirectionsAndSeparatorsAreEscaped) {
  EXPECT_EQ(readable("a\r\n\tb\x1b]0;x\x07\x7f"), "a\\x0d\\n\\tb\\x1b]0;x\\x07\\x7f");
  EXPECT_EQ(readable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(readable("\x9b"), "\\x9b");
  for (const char* const text : {"\u0085", "\u200e", "\u2028", "\u2029", "\u202e", "\u2066", "\ufeff"}) {
    EXPECT_FALSE(is_readable(text)) << readable(text);
  }
  EXPECT_EQ(readable("é €\\n"), "é €\\n");
}

TEST(Readable, KeptControlsStay) {
  EXPECT_EQ(readable("a\nb\tc\r", "\n\t"), "a\nb\tc\\x0d");
}

TEST(Readable, AWordHasNoBlank) {
  EXPECT_EQ(readable_word("a b\r\nc"), "a\\x20b\\x0d\\nc");
}

TEST(Readable, AByteOrderMarkIsTakenOnlyFromTheBeginning) {
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbf"
                                    "a"),
            "a");
  EXPECT_EQ(without_byte_order_mark("a\xef\xbb\xbf"), "a\xef\xbb\xbf");
}

}  // namespace
}  // namespace mxkv::runtime

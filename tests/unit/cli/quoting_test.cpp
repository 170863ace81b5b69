// Words of the shell's lines, and output that can be read back.
#include "protocol/clients/cli/text/quoting.hpp"

#include <gtest/gtest.h>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Quoting, WordsEndAtBlanksAndQuotesKeepThem) {
  EXPECT_EQ(split_words("  get  a\tb \r\n"), (Words{"get", "a", "b"}));
  EXPECT_EQ(split_words("set 'a b' \"c d\""), (Words{"set", "a b", "c d"}));
  EXPECT_EQ(split_words("a'b c'd\"e f\"g"), (Words{"ab cde fg"}));
  EXPECT_EQ(split_words(R"(a\ b \# '')"), (Words{"a b", "#", ""}));
  EXPECT_EQ(split_words(""), Words{});
}

TEST(Quoting, ACommentBeginsWhereAWordCould) {
  EXPECT_EQ(split_words("get a # b"), (Words{"get", "a"}));
  EXPECT_EQ(split_words("get a#b '#c'"), (Words{"get", "a#b", "#c"}));
}

TEST(Quoting, EscapesOfDoubleQuotesAreBytes) {
  EXPECT_EQ(split_words(R"("\n\r\t\\\"\x00\xfF\0")"), (Words{std::string("\n\r\t\\\"\0\xff\0", 8)}));
  EXPECT_EQ(split_words(R"('\n')"), (Words{R"(\n)"}));
  EXPECT_EQ(unescape(R"(a\x41)"), "aA");
}

TEST(Quoting, UnclosedQuotesAndUnknownEscapesAreRefused) {
  for (const char* const line : {"'a", "\"a", "\"a\\", "a\\", R"("\q")", R"("\x4")", R"("\xg0")"}) {
    EXPECT_THROW(static_cast<void>(split_words(line)), Failure) << line;
  }
}

TEST(Quoting, PrintedWordsAreReadBackUnchanged) {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x61, 0x20, 0x5c, 0x22, 0xc3, 0xa9}) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      EXPECT_EQ(split_words(quoted_word(bytes)), Words{bytes}) << first << ' ' << second;
    }
  }
  EXPECT_EQ(quoted_word("user:1"), "user:1");
  EXPECT_EQ(quoted_word(""), "\"\"");
  EXPECT_EQ(quoted_word("é"), "é");
}

TEST(Quoting, CharactersThatATerminalObeysAreEscapedAndOthersStay) {
  EXPECT_EQ(quoted_word("\xc2\x9b"
                        "31mé"),
            "\"\\xc2\\x9b31mé\"");
  EXPECT_EQ(quoted_word("é\x9b"), "\"é\\x9b\"");
  EXPECT_EQ(quoted_word("\u202egnp.exe"), "\"\\xe2\\x80\\xaegnp.exe\"");
}

}  // namespace
}  // namespace mxkv::cli

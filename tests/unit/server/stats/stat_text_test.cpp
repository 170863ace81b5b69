// A line of `stats` stays one line, and its name one word, whatever its contents.
#include "server/stats/stat_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

TEST(StatText, LinesAreAsTheyWereAdded) {
  StatText text;
  text.add("a", "one two");
  text.add("b", 7);
  EXPECT_EQ(std::move(text).finish(), "STAT a one two\r\nSTAT b 7\r\nEND\r\n");
}

TEST(StatText, NothingFromOutsideMakesALineOrAWord) {
  StatText text;
  text.add("key:a\r\nb c\x1b[31m", "x\r\nEND\r\n\xc2\x9b é");
  EXPECT_EQ(std::move(text).finish(),
            "STAT key:a\\x0d\\nb\\x20c\\x1b[31m x\\x0d\\nEND\\x0d\\n\\xc2\\x9b é\r\nEND\r\n");
}

}  // namespace
}  // namespace mxkv::server

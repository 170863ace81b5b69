// Line ends: found at any distance, never searched for twice, and refused beyond the limits.
#include "protocol/line_scan.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::protocol {
namespace {

struct Found {
  line_end what;
  std::size_t at;
  std::size_t searched;
};

Found find(std::string_view text, std::size_t searched = 0, ParserLimits limits = {}) {
  LineState line{searched};
  std::size_t at = 0;
  const line_end what = find_line_end(text.data(), text.size(), limits, line, at);
  return {what, at, line.searched};
}

TEST(LineScan, TheFirstLineFeedIsFoundAtEveryDistance) {
  for (std::size_t at = 0; at < 300; ++at) {
    for (const std::size_t behind : {std::size_t{0}, std::size_t{1}, std::size_t{9}, std::size_t{100}}) {
      const Found found = find(std::string(at, 'x') + "\n" + std::string(behind, '\n'));
      ASSERT_EQ(found.what, line_end::found);
      ASSERT_EQ(found.at, at);
    }
  }
}

TEST(LineScan, SearchedBytesAreNotSearchedAgain) {
  // A line feed planted in the part said to be searched is not seen: that part is not read.
  EXPECT_EQ(find("ab\ncd", 3).what, line_end::missing);
  EXPECT_EQ(find("ab\ncd\n", 3).at, 5U);
}

TEST(LineScan, AnIncompleteLineIsRememberedAndACompleteOneForgets) {
  EXPECT_EQ(find("abc").searched, 3U);
  EXPECT_EQ(find("abc", 2).searched, 3U);
  EXPECT_EQ(find("abc\n", 3).searched, 0U);
}

TEST(LineScan, ALineMayHaveItsEndWithinTheLimitAndNotBehindIt) {
  const ParserLimits limits;
  EXPECT_EQ(find(std::string(limits.line_bytes - 1, 'x') + "\n").what, line_end::found);
  EXPECT_EQ(find(std::string(limits.line_bytes - 1, 'x')).what, line_end::missing);
  EXPECT_EQ(find(std::string(limits.line_bytes, 'x')).what, line_end::too_long);
  EXPECT_EQ(find(std::string(limits.line_bytes, 'x') + "\n").what, line_end::too_long);
}

TEST(LineScan, RetrievalsHaveTheirOwnLimit) {
  const ParserLimits limits;
  for (const std::string_view verb : {"get ", "gets ", "gat ", "gats "}) {
    const std::string line = std::string(verb) + std::string(limits.get_line_bytes - 1 - verb.size(), 'x');
    EXPECT_EQ(find(line).what, line_end::missing) << verb;
    EXPECT_EQ(find(line + "\n").what, line_end::found) << verb;
    EXPECT_EQ(find(line + "x").what, line_end::too_long) << verb;
    EXPECT_EQ(find(line + "x\n").what, line_end::too_long) << verb;
  }
  EXPECT_EQ(find("getx" + std::string(limits.line_bytes, 'x')).what, line_end::too_long);
}

TEST(LineScan, TooLongALineForgets) {
  EXPECT_EQ(find(std::string(5000, 'x'), 2000).searched, 0U);
}

TEST(LineScan, ALineIsTooLongWhateverWasSearchedBefore) {
  const ParserLimits limits{.value_bytes = 1, .line_bytes = 10, .get_line_bytes = 20};
  for (std::size_t searched = 0; searched < 10; ++searched) {
    EXPECT_EQ(find("xxxxxxxxxx\n", searched, limits).what, line_end::too_long) << searched;
    EXPECT_EQ(find("get xxxxxx\n", searched, limits).what, line_end::found) << searched;
    EXPECT_EQ(find("get xxxxxxxxxxxxxxxx\n", searched, limits).what, line_end::too_long) << searched;
  }
}

}  // namespace
}  // namespace mxkv::protocol

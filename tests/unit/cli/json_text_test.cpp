// JSON of arbitrary bytes.
#include "protocol/clients/cli/commands/json_text.hpp"

#include <gtest/gtest.h>

namespace mxkv::cli {
namespace {

TEST(JsonText, BytesThatAreNoUtf8AreInBase64) {
  EXPECT_EQ(json_bytes("a\n\"é").dump(), "\"a\\n\\\"é\"");
  EXPECT_EQ(json_bytes("\xff").dump(), R"({"b64":"/w=="})");
  EXPECT_EQ(json_bytes(std::string_view("\0", 1)).dump(), R"("\u0000")");
}

TEST(JsonText, EveryPairOfBytesMakesADocument) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      EXPECT_NO_THROW(static_cast<void>(json_bytes(bytes).dump()));
    }
  }
}

TEST(JsonText, OnlyWhatJsonWouldWriteSoIsANumber) {
  EXPECT_EQ(json_word("17").dump(), "17");
  EXPECT_EQ(json_word("-1").dump(), "-1");
  EXPECT_EQ(json_word("18446744073709551615").dump(), "18446744073709551615");
  for (const char* const word : {"007", "", "1.5", "-0", "yes", "99999999999999999999"}) {
    EXPECT_TRUE(json_word(word).is_string()) << word;
  }
}

}  // namespace
}  // namespace mxkv::cli

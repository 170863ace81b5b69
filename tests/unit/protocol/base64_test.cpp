// Base64: the standard's vectors, and that a text and its bytes determine each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

std::string encode(std::string_view bytes) {
  std::vector<char> out(4 * ((bytes.size() + 2) / 3));
  const char* const end = write_base64(out.data(), bytes);
  EXPECT_EQ(end, out.data() + out.size());
  return {out.data(), out.size()};
}

bool decode(std::string_view text, std::string& bytes) {
  std::vector<char> out(text.size() / 4 * 3);
  std::size_t length = 0;
  const bool good = read_base64(text, out.data(), length);
  if (good) {
    bytes.assign(out.data(), length);
  }
  return good;
}

TEST(Base64, TheVectorsOfTheStandardHold) {
  const struct {
    std::string_view bytes;
    std::string_view text;
  } rows[] = {{"", ""},
              {"f", "Zg=="},
              {"fo", "Zm8="},
              {"foo", "Zm9v"},
              {"foob", "Zm9vYg=="},
              {"fooba", "Zm9vYmE="},
              {"foobar", "Zm9vYmFy"},
              {"\xfb\xff\xbf", "+/+/"}};
  for (const auto& row : rows) {
    std::string back;
    EXPECT_EQ(encode(row.bytes), row.text);
    EXPECT_TRUE(decode(row.text, back)) << row.text;
    EXPECT_EQ(back, row.bytes);
  }
}

TEST(Base64, AllBytesComeBackAtEveryLength) {
  std::string bytes;
  for (unsigned i = 0; i < 300; ++i) {
    std::string back;
    ASSERT_TRUE(decode(encode(bytes), back)) << i;
    ASSERT_EQ(back, bytes);
    bytes.push_back(static_cast<char>(i * 37U));
  }
}

TEST(Base64, AByteOutsideTheAlphabetIsRefusedAnywhere) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 7; ++at) {
      std::string text = "AAAAAAAA";
      text[at] = static_cast<char>(byte);
      std::string back;
      EXPECT_EQ(decode(text, back), alphabet.find(static_cast<char>(byte)) != std::string::npos)
          << byte << ' ' << at;
    }
  }
}

TEST(Base64, OnlyTheOneTextOfTheBytesIsRead) {
  std::string back;
  for (const std::string_view text : {"A", "AA", "AAA", "AAAAA", "Zg=", "Zg", "Zg===", "====", "A===", "=AAA",
                                      "Zg==Zg==", "Zm8=AAAA", "Z=g=", "Zh==", "Zm9=", "Zg==\n", " Zg=="}) {
    EXPECT_FALSE(decode(text, back)) << text;
  }
}

}  // namespace
}  // namespace mxkv::protocol

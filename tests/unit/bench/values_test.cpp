// A value is right for its own key only, in any version, and only untouched.
#include "bench/workload/values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mxkv::bench {
namespace {

std::string value_of(std::uint64_t key_hash, std::uint64_t version, std::size_t bytes) {
  std::string value(bytes, '\0');
  write_value(key_hash, version, value.data(), bytes);
  return value;
}

TEST(Values, MatchTheirKeyInEveryVersionAndLength) {
  for (std::size_t bytes = 0; bytes < 130; ++bytes) {
    for (const std::uint64_t version : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 50}) {
      ASSERT_TRUE(value_matches(99, value_of(99, version, bytes), bytes)) << bytes;
    }
  }
}

TEST(Values, OfAnotherKeyAreWrong) {
  for (const std::size_t bytes :
       {std::size_t{4}, std::size_t{15}, std::size_t{16}, std::size_t{20}, std::size_t{100}}) {
    EXPECT_FALSE(value_matches(98, value_of(99, 0, bytes), bytes)) << bytes;
  }
}

TEST(Values, WithOneByteChangedAreWrong) {
  constexpr std::size_t kBytes = 101;
  const std::string right = value_of(5, 3, kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) {
    std::string changed = right;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(value_matches(5, changed, kBytes)) << i;
  }
}

TEST(Values, TornBetweenTwoVersionsAreWrong) {
  constexpr std::size_t kBytes = 100;
  const std::string before = value_of(5, 1, kBytes);
  const std::string after = value_of(5, 2, kBytes);
  for (std::size_t cut = 8; cut < 96; cut += 8) {
    EXPECT_FALSE(value_matches(5, before.substr(0, cut) + after.substr(cut), kBytes)) << cut;
  }
}

TEST(Values, OfAnotherLengthAreWrong) {
  EXPECT_FALSE(value_matches(5, value_of(5, 0, 99), 100));
  EXPECT_FALSE(value_matches(5, value_of(5, 0, 101), 100));
  EXPECT_FALSE(value_matches(5, "", 100));
}

TEST(Values, ArePrintable) {
  const std::string value = value_of(123456789, 77, 1000);
  EXPECT_TRUE(std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 0x7F; }));
}

}  // namespace
}  // namespace mxkv::bench

// Strict decimals at their edges.
#include "protocol/numbers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::protocol {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

TEST(Numbers, EveryNumberIsReadAsWritten) {
  std::vector<std::uint64_t> values = {0, kLargest};
  for (std::uint64_t power = 1; power <= kLargest / 10; power *= 10) {
    values.insert(values.end(), {power, power - 1, power + 1, 7 * power});
  }
  for (std::uint64_t value = 1; value != 0; value *= 3) {
    values.push_back(value);
    if (value > kLargest / 3) {
      break;
    }
  }
  for (const std::uint64_t value : values) {
    std::uint64_t read = ~value;
    EXPECT_TRUE(read_u64(std::to_string(value), read)) << value;
    EXPECT_EQ(read, value);
  }
}

TEST(Numbers, AllNumbersOfUpToFourDigitsAreRead) {
  for (std::uint64_t value = 0; value < 10000; ++value) {
    std::uint64_t read = ~value;
    ASSERT_TRUE(read_u64(std::to_string(value), read));
    ASSERT_EQ(read, value);
  }
}

TEST(Numbers, LeadingZerosAreDigits) {
  for (const std::string_view text : {"07", "00000007", "000000007", "0000000000000000000000000000007"}) {
    std::uint64_t read = 0;
    EXPECT_TRUE(read_u64(text, read)) << text;
    EXPECT_EQ(read, 7U) << text;
  }
}

TEST(Numbers, AnyByteThatIsNoDigitMakesItNoNumberAtAnyPlace) {
  for (std::size_t digits = 1; digits <= 19; ++digits) {
    for (std::size_t at = 0; at < digits; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string text(digits, '1');
        text[at] = static_cast<char>(byte);
        std::uint64_t read = 0;
        ASSERT_EQ(read_u64(text, read), byte >= '0' && byte <= '9') << digits << ' ' << at << ' ' << byte;
      }
    }
  }
}

TEST(Numbers, NothingIsNoNumber) {
  std::uint64_t unsigned_value = 0;
  std::int64_t signed_value = 0;
  EXPECT_FALSE(read_u64("", unsigned_value));
  EXPECT_FALSE(read_long_number("", unsigned_value));
  EXPECT_FALSE(read_i64("", signed_value));
  EXPECT_FALSE(read_i64("-", signed_value));
}

TEST(Numbers, NumbersThatDoNotFitAreRefused) {
  std::uint64_t u64 = 0;
  EXPECT_TRUE(read_u64("18446744073709551615", u64));
  for (const std::string_view text : {"18446744073709551616", "18446744073709551620", "99999999999999999999",
                                      "100000000000000000000", "184467440737095516150"}) {
    EXPECT_FALSE(read_u64(text, u64)) << text;
  }
  std::uint32_t u32 = 0;
  EXPECT_TRUE(read_u32("4294967295", u32));
  EXPECT_EQ(u32, 4294967295U);
  EXPECT_FALSE(read_u32("4294967296", u32));
}

TEST(Numbers, SignedNumbersReachBothEnds) {
  std::int64_t read = 0;
  EXPECT_TRUE(read_i64("9223372036854775807", read));
  EXPECT_EQ(read, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(read_i64("-9223372036854775808", read));
  EXPECT_EQ(read, std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(read_i64("9223372036854775808", read));
  EXPECT_FALSE(read_i64("-9223372036854775809", read));
  EXPECT_TRUE(read_i64("-0", read));
  EXPECT_EQ(read, 0);
}

TEST(Numbers, OnlyAMinusInFrontOfASignedNumberIsASign) {
  std::uint64_t u64 = 0;
  std::int64_t i64 = 0;
  for (const std::string_view text : {"+1", "--1", "- 1", "1-", " 1", "1 "}) {
    EXPECT_FALSE(read_u64(text, u64)) << text;
    EXPECT_FALSE(read_i64(text, i64)) << text;
  }
  EXPECT_FALSE(read_u64("-1", u64));
}

}  // namespace
}  // namespace mxkv::protocol

// Numbers for people.
#include "protocol/clients/cli/text/amounts.hpp"

#include <gtest/gtest.h>

namespace mxkv::cli {
namespace {

TEST(Amounts, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0B");
  EXPECT_EQ(bytes_text(1023), "1023B");
  EXPECT_EQ(bytes_text(1536), "1.5KiB");
  EXPECT_EQ(bytes_text(100.0 * 1024 * 1024), "100MiB");
  EXPECT_EQ(bytes_text(2.25 * 1024 * 1024 * 1024), "2.2GiB");
}

TEST(Amounts, CountsHaveThreeDigitsFromTenThousandOn) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(2.5), "2.5");
  EXPECT_EQ(count_text(9999), "9999");
  EXPECT_EQ(count_text(12'345), "12.3k");
  EXPECT_EQ(count_text(999'600), "1.00M");
  EXPECT_EQ(count_text(1'234'567), "1.23M");
}

TEST(Amounts, TimesHaveTheUnitThatFits) {
  EXPECT_EQ(micros_text(12), "12us");
  EXPECT_EQ(micros_text(3400), "3.40ms");
  EXPECT_EQ(micros_text(1'200'000), "1.20s");
  EXPECT_EQ(seconds_text(42), "42s");
  EXPECT_EQ(seconds_text(185), "3m05s");
  EXPECT_EQ(seconds_text(7980), "2h13m");
  EXPECT_EQ(seconds_text(100 * 3600), "4d04h");
}

TEST(Amounts, ATableHasColumns) {
  EXPECT_EQ(table_text({{"key", "n"}, {"a", "100"}}), "key    n\na    100\n");
}

}  // namespace
}  // namespace mxkv::cli

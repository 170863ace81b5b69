// Sizes, durations, CPU lists and addresses as text.
#include "config/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mxkv::config {
namespace {

using runtime::PuId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseSize, TakesBytesAndBinaryUnits) {
  EXPECT_EQ(parse_size("0").value(), 0U);
  EXPECT_EQ(parse_size("4096").value(), 4096U);
  EXPECT_EQ(parse_size("12B").value(), 12U);
  EXPECT_EQ(parse_size("3KiB").value(), 3072U);
  EXPECT_EQ(parse_size("512MiB").value(), 512ULL << 20U);
  EXPECT_EQ(parse_size("1GiB").value(), 1ULL << 30U);
  EXPECT_EQ(parse_size("2TiB").value(), 2ULL << 40U);
}

TEST(ParseSize, RefusesWhatCouldMeanTwoThings) {
  for (const char* text : {"", "MiB", "1MB", "1M", "1mib", "1 MiB", " 1MiB", "1MiB ", "-1", "+1", "1.5GiB",
                           "0x10", "1e3", "99999999999999999999", "16777216TiB"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_THAT(size.error().message, HasSubstr("\"" + std::string{text} + "\" is not a size"));
    EXPECT_THAT(size.error().message, HasSubstr(" (allowed: "));
  }
}

TEST(ParseSize, TellsWhatIsMeant) {
  for (const char* text : {"2G", "2GB", "2Gi", "2g", "2gib", "2 GiB", "2 gb"}) {
    EXPECT_THAT(parse_size(text).error().message,
                HasSubstr("\"" + std::string{text} + "\" is not a size, did you mean 2GiB? (allowed: "));
  }
  for (const char* text : {"", "G", "2Gs", "2ms", "5%", "2PB", "1.5GiB", "16777216TiB", "-2G"}) {
    EXPECT_THAT(parse_size(text).error().message, Not(HasSubstr("did you mean"))) << text;
  }
}

TEST(ParseSize, ReachesTheLastByte) {
  EXPECT_EQ(parse_size("18446744073709551615").value(), std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(parse_size("16777215TiB").value(), std::numeric_limits<std::size_t>::max() - (1ULL << 40U) + 1);
}

TEST(ParseDuration, TakesUnitsDownToMilliseconds) {
  EXPECT_EQ(parse_duration_ms("50ms").value(), 50U);
  EXPECT_EQ(parse_duration_ms("60s").value(), 60'000U);
  EXPECT_EQ(parse_duration_ms("5min").value(), 300'000U);
  EXPECT_EQ(parse_duration_ms("2h").value(), 7'200'000U);
}

TEST(ParseDuration, RefusesMissingUnitsAndOverflow) {
  for (const char* text : {"", "50", "50us", "50m", "1.5s", "-1s", "4294968s", "s"}) {
    EXPECT_FALSE(parse_duration_ms(text).ok()) << text;
  }
  EXPECT_EQ(parse_duration_ms("4294967295ms").value(), std::numeric_limits<std::uint32_t>::max());
}

TEST(ParseDuration, TellsWhatIsMeant) {
  for (const char* text : {"2m", "2 min", "2M", "2minutes"}) {
    EXPECT_THAT(parse_duration_ms(text).error().message,
                HasSubstr("\"" + std::string{text} + "\" is not a duration, did you mean 2min? (allowed: "));
  }
  EXPECT_THAT(parse_duration_ms("1d").error().message, HasSubstr("did you mean 24h?"));
  for (const char* text : {"50", "50us", "1.5s", "4294968s", "1000000d", "s", "d", ""}) {
    EXPECT_THAT(parse_duration_ms(text).error().message, Not(HasSubstr("did you mean"))) << text;
  }
}

TEST(ParseNumber, RefusesAnythingButDigits) {
  EXPECT_EQ(parse_number("007").value(), 7U);
  EXPECT_EQ(parse_number("18446744073709551615").value(), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1k", "18446744073709551616"}) {
    EXPECT_FALSE(parse_number(text).ok()) << text;
  }
}

TEST(ParseCpuList, KeepsTheOrderWritten) {
  EXPECT_THAT(parse_cpu_list("8,0-2").value(), ElementsAre(PuId{8}, PuId{0}, PuId{1}, PuId{2}));
  EXPECT_THAT(parse_cpu_list("65535").value(), ElementsAre(PuId{65535}));
  EXPECT_THAT(parse_cpu_list("3-3").value(), ElementsAre(PuId{3}));
  EXPECT_TRUE(parse_cpu_list("all").value().empty());
}

TEST(ParseCpuList, RefusesMalformedLists) {
  for (const char* text :
       {"", ",", "0,", ",0", "3-1", "-1", "1-", "0-1-2", "a", "0 1", "0, 1", "65536", "All"}) {
    const auto cpus = parse_cpu_list(text);
    ASSERT_FALSE(cpus.ok()) << text;
    EXPECT_THAT(cpus.error().message, HasSubstr("is not a list of CPUs"));
  }
}

TEST(ParseCpuList, RefusesACpuNamedTwiceAndSaysWhich) {
  EXPECT_EQ(parse_cpu_list("0-3,2").error().message,
            "\"0-3,2\" names CPU 2 twice (allowed: CPU numbers and ranges such as 0-3,8, or all)");
}

TEST(ParseListen, TakesIpv4AndBracketedIpv6) {
  EXPECT_EQ(parse_listen("127.0.0.1:11211").value(), (ListenAddress{.address = "127.0.0.1", .port = 11211}));
  EXPECT_EQ(parse_listen("0.0.0.0:0").value(), (ListenAddress{.address = "0.0.0.0", .port = 0}));
  EXPECT_EQ(parse_listen("unix:/run/a b").value().path, "/run/a b");
  EXPECT_EQ(parse_listen("[::1]:65535").value(), (ListenAddress{.address = "::1", .port = 65535}));
}

TEST(ParseListen, RefusesNamesMissingPortsAndBareIpv6) {
  for (const char* text : {"", ":", "11211", ":11211", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:1x", "localhost:11211", "::1:11211", "[::1]",
                           "[::1]:", "[]:1", "[127.0.0.1]:1", "256.0.0.1:1", "[::1:1"}) {
    EXPECT_FALSE(parse_listen(text).ok()) << text;
  }
}

TEST(ParseMemory, TakesSizesPartsAndAuto) {
  EXPECT_EQ(parse_memory("8GiB").value().bytes, 8ULL << 30U);
  EXPECT_EQ(parse_memory("75%").value().percent, 75U);
  EXPECT_EQ(parse_memory("75%").value().bytes, 0U);
  EXPECT_EQ(parse_memory("auto").value().bytes + parse_memory("auto").value().percent, 0U);
  for (const char* text :
       {"", "%", "0%", "101%", "-1%", "1.5%", "75 %", "75%%", "8GB", "18446744073709551616%"}) {
    EXPECT_FALSE(parse_memory(text).ok()) << text;
  }
}

TEST(ParseCountRange, TakesOneSeveralAndAny) {
  EXPECT_EQ(parse_count_range("2").value(), (CountRange{.least = 2, .most = 2}));
  EXPECT_EQ(parse_count_range("2-4").value(), (CountRange{.least = 2, .most = 4}));
  EXPECT_EQ(parse_count_range("16+").value().least, 16U);
  EXPECT_EQ(parse_count_range("any").value(), CountRange{});
  for (const char* text : {"", "0", "4-2", "+", "-", "2-", "-2", "2+3", "a", "2-4+", "4294967296"}) {
    EXPECT_FALSE(parse_count_range(text).ok()) << text;
  }
  for (const char* text : {"2", "2-4", "16+", "any"}) {
    EXPECT_EQ(format_count_range(parse_count_range(text).value()), text);
  }
}

TEST(Format, SizesForPeopleAreRoundedDown) {
  EXPECT_EQ(format_size_rounded(0), "0B");
  EXPECT_EQ(format_size_rounded(1023), "1023B");
  EXPECT_EQ(format_size_rounded(1024), "1KiB");
  EXPECT_EQ(format_size_rounded((1ULL << 30U) - 1), "1023.9MiB");
  EXPECT_EQ(format_size_rounded(3ULL << 29U), "1.5GiB");
  EXPECT_EQ(format_size_rounded(2048ULL << 40U), "2048TiB");
}

TEST(Format, IsReadBackAsTheSameValue) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024}, std::size_t{1} << 20U,
        (std::size_t{1} << 30U) + 1, std::size_t{5} << 40U}) {
    EXPECT_EQ(parse_size(format_size(bytes)).value(), bytes);
  }
  for (const std::uint32_t ms : {0U, 1U, 999U, 1000U, 1500U, 60'000U, 3'600'000U, 3'600'001U}) {
    EXPECT_EQ(parse_duration_ms(format_duration_ms(ms)).value(), ms);
  }
  for (const char* text : {"all", "0", "0-3,8", "8,0-2", "1,3,5"}) {
    EXPECT_EQ(format_cpu_list(parse_cpu_list(text).value()), text);
  }
  for (const char* text : {"127.0.0.1:11211", "[::1]:0", "unix:/run/mxkv.sock"}) {
    EXPECT_EQ(format_listen(parse_listen(text).value()), text);
  }
}

TEST(Format, PicksTheLargestUnitWithoutRemainder) {
  EXPECT_EQ(format_size(1536), "1536B");
  EXPECT_EQ(format_size(2048), "2KiB");
  EXPECT_EQ(format_size(1ULL << 30U), "1GiB");
  EXPECT_EQ(format_duration_ms(90'000), "90s");
}

}  // namespace
}  // namespace mxkv::config

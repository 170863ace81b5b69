// Writers: numbers of every length, headers within their room.
#include "protocol/reply.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace mxkv::protocol {
namespace {

constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint64_t>::max();

std::string number(std::uint64_t value) {
  std::array<char, kMaxDigits> out;
  return {out.data(), write_number(out.data(), value)};
}

TEST(Reply, NumbersOfEveryLengthAreWrittenInDecimal) {
  std::vector<std::uint64_t> values = {0, kGreatest, kGreatest - 1};
  for (std::uint64_t power = 1;; power *= 10) {
    values.insert(values.end(), {power - 1, power, power + 1});
    if (power > kGreatest / 10) {
      break;
    }
  }
  for (unsigned bits = 0; bits < 64; ++bits) {
    values.insert(values.end(), {(std::uint64_t{1} << bits) - 1, std::uint64_t{1} << bits});
  }
  for (const std::uint64_t value : values) {
    EXPECT_EQ(number(value), std::to_string(value));
  }
}

TEST(Reply, AllSmallNumbersAreWrittenInDecimal) {
  for (std::uint64_t value = 0; value < 100000; ++value) {
    ASSERT_EQ(number(value), std::to_string(value));
  }
}

TEST(Reply, AHeaderHasKeyFlagsBytesAndCasWhereAsked) {
  std::array<char, kMaxHeaderBytes> out;
  EXPECT_EQ(std::string(out.data(), write_value_header(out.data(), "key", 7, 100, nullptr)),
            "VALUE key 7 100\r\n");
  const std::uint64_t cas = 123456789012;
  EXPECT_EQ(std::string(out.data(), write_value_header(out.data(), "k", 0, 0, &cas)),
            "VALUE k 0 0 123456789012\r\n");
}

TEST(Reply, TheLongestHeaderFillsItsRoom) {
  std::vector<char> out(kMaxHeaderBytes);
  const std::string longest(4 * ((kMaxKeyBytes + 2) / 3), 'k');
  const std::uint64_t cas = kGreatest;
  const char* const end = write_value_header(out.data(), longest, 4294967295U, kGreatest, &cas);
  EXPECT_EQ(static_cast<std::size_t>(end - out.data()), kMaxHeaderBytes);
}

TEST(Reply, AKeyLineHasTheKey) {
  std::array<char, kMaxHeaderBytes> out;
  EXPECT_EQ(std::string(out.data(), write_key_line(out.data(), "a")), "KEY a\r\n");
}

TEST(Reply, AKeyIsPrintableExactlyIfAClassicCommandCanHoldIt) {
  for (const unsigned size : {1U, 7U, 8U, 13U, 15U, 16U, 17U, 31U, 32U, 33U, 48U, 250U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string key(size, 'k');
        key[at] = static_cast<char>(byte);
        ASSERT_EQ(is_printable_key(key), byte != 0 && byte != ' ' && byte != '\r' && byte != '\n')
            << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST(Reply, ShortAndMiddlingTextOfAnyLengthIsWrittenWholeAndAlone) {
  for (std::size_t size = 0; size <= 600; ++size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = static_cast<char>('!' + i % 90);
    }
    for (const auto write : {write_short_text, write_middling_text}) {
      const auto out = std::make_unique<char[]>(size);  // of exactly this size, for sanitizers
      EXPECT_EQ(write(out.get(), text), out.get() + size);
      EXPECT_EQ(std::string(out.get(), size), text);
    }
  }
}

TEST(Reply, EveryFixedLineIsOneWholeLine) {
  for (const std::string_view line :
       {kStored,     kNotStored,  kExists,      kNotFound,    kDeleted,           kTouched,
        kOk,         kEnd,        kReset,       kError,       kBadFormat,         kBadDataChunk,
        kBadDelta,   kBadExptime, kBadDelete,   kBadEncoding, kBadCursor,         kForeignCursor,
        kNonNumeric, kTooLarge,   kOutOfMemory, kBinaryKey,   kTooManyConnections}) {
    EXPECT_EQ(line.find("\r\n"), line.size() - 2) << line;
    EXPECT_GT(line.size(), 2U);
  }
}

}  // namespace
}  // namespace mxkv::protocol

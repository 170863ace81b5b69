// Writers of replies. Long numbers are made two digits at a time from a table: half the divisions, no branch
// a digit.
#include "protocol/reply.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace mxkv::protocol {
namespace {

constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::array<std::uint64_t, kMaxDigits> kPowersOfTen = [] {
  std::array<std::uint64_t, kMaxDigits> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}();

/// 1233 / 4096 is log10(2) closely enough for 64 bits; the comparison adds the digit that the estimate may
/// lack.
std::size_t digits_of(std::uint64_t value) noexcept {
  const auto guess = static_cast<std::size_t>(std::bit_width(value | 1U)) * 1233 / 4096;
  return guess + (value >= kPowersOfTen[guess] ? 1 : 0) + (value == 0 ? 1 : 0);
}

}  // namespace

constexpr std::array<SmallNumber, 1000> kSmallNumbers = [] {
  std::array<SmallNumber, 1000> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    SmallNumber& number = numbers[i];
    for (std::size_t power = i < 10 ? 1 : (i < 100 ? 10 : 100); power > 0; power /= 10) {
      number.text[number.digits++] = static_cast<char>('0' + i / power % 10);
    }
  }
  return numbers;
}();

char* write_long_number(char* out, std::uint64_t value) noexcept {
  char* const end = out + digits_of(value);
  char* at = end;
  while (value >= 100) {
    at -= 2;
    std::memcpy(at, &kPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (value >= 10) {
    std::memcpy(at - 2, &kPairs[2 * value], 2);
  } else {
    at[-1] = static_cast<char>('0' + value);
  }
  return end;
}

char* write_key_line(char* out, std::string_view key) noexcept {
  return write_text(write_text(write_text(out, "KEY "), key), kCrLf);
}

}  // namespace mxkv::protocol

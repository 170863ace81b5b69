// Digits are written and read eight at a time in one 64-bit word. Otherwise a client that makes and checks
// millions of keys a second would spend most of its time here. Little-endian only, as the server.
#include "bench/workload/keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace mxkv::bench {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kZeros = 0x3030303030303030ULL;
constexpr std::uint64_t kTenTo8 = 100'000'000;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kScratchDigits = 24;  // three words; a 64-bit number has at most 20 digits

/// The eight digits of `number` (< 10^8), first digit in the lowest byte, as values 0..9.
constexpr std::uint64_t eight_digits(std::uint64_t number) noexcept {
  const std::uint64_t fours = (number / 10000) | ((number % 10000) << 32);
  const std::uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007F0000007FULL;
  const std::uint64_t twos = ((fours - 100 * hundreds) << 16) + hundreds;
  const std::uint64_t tens = ((twos * 103) >> 10) & 0x000F000F000F000FULL;
  return ((twos - 10 * tens) << 8) + tens;
}

/// The number that eight ASCII digits spell, or nothing if one of them is no digit.
std::optional<std::uint64_t> parse_eight(const char* text) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  const std::uint64_t digits = word ^ kZeros;
  if (((digits | (digits + 0x0606060606060606ULL)) & 0xF0F0F0F0F0F0F0F0ULL) != 0) {
    return std::nullopt;
  }
  const std::uint64_t twos = (digits * 10) + (digits >> 8);
  return (((twos & 0x000000FF000000FFULL) * 0x000F424000000064ULL) +
          (((twos >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL)) >>
         32;
}

char* put_eight(char* at, std::uint64_t number) noexcept {
  const std::uint64_t text = eight_digits(number) | kZeros;
  std::memcpy(at, &text, sizeof text);
  return at + sizeof text;
}

/// The number of digits above the lowest 16; the number that they make is below 923.
constexpr std::size_t digits_of_high(std::uint64_t high) noexcept {
  return std::size_t{high >= 1} + std::size_t{high >= 10} + std::size_t{high >= 100};
}

struct Aligned {
  std::uint64_t digits;  // the number's digits moved left to 19 places
  unsigned count;
};

Aligned align_left(std::uint64_t number) noexcept {
  unsigned count = 19;
  while (count > 1 && number < 1'000'000'000'000'000'000ULL) {
    number *= 10;
    --count;
  }
  return {number, count};
}

}  // namespace

std::size_t KeyFormat::write(std::uint64_t hash, char* out) const noexcept {
  char* at = out;
  std::memcpy(at, kPrefix.data(), kPrefix.size());
  at += kPrefix.size();
  const std::uint64_t high = hash / (kTenTo8 * kTenTo8);
  const std::size_t high_digits = digits_of_high(high);
  if (high_digits == 0 && zero_padding_ < 2 * kWord) {
    return kPrefix.size() + write_short(hash, at);
  }
  const std::size_t digits = high_digits + 2 * kWord;
  if (zero_padding_ > digits) {
    const std::size_t fill = zero_padding_ - digits;
    if (fill > kWord) {
      std::memset(at, '0', fill);
    } else {
      std::memcpy(at, &kZeros, kWord);  // the digits overwrite excess zeros
    }
    at += fill;
  }
  for (std::size_t place = high_digits, rest = high; place > 0; rest /= 10) {
    at[--place] = static_cast<char>('0' + rest % 10);
  }
  at = put_eight(at + high_digits, hash / kTenTo8 % kTenTo8);
  return static_cast<std::size_t>(put_eight(at, hash % kTenTo8) - out);
}

std::size_t KeyFormat::write_short(std::uint64_t hash, char* out) const noexcept {
  std::array<char, 2 * kWord> scratch;
  put_eight(put_eight(scratch.data(), hash / kTenTo8), hash % kTenTo8);
  std::size_t skip = 0;
  const std::size_t most = scratch.size() - std::max<std::size_t>(zero_padding_, 1);
  while (skip < most && scratch[skip] == '0') {
    ++skip;
  }
  std::memcpy(out, scratch.data() + skip, scratch.size() - skip);
  return scratch.size() - skip;
}

std::optional<std::uint64_t> KeyFormat::parse(std::string_view key) const noexcept {
  constexpr std::size_t kMaxDigits = 19;  // hashes are below 2^63
  if (!key.starts_with(kPrefix)) {
    return std::nullopt;
  }
  std::string_view digits = key.substr(kPrefix.size());
  const std::size_t least = std::max<std::size_t>(zero_padding_, 1);
  if (digits.size() < least || (digits.size() > least && (digits[0] == '0' || digits.size() > kMaxDigits))) {
    return std::nullopt;
  }
  while (digits.size() > kScratchDigits || (digits.size() > kMaxDigits && digits[0] == '0')) {
    if (digits[0] != '0') {
      return std::nullopt;
    }
    digits.remove_prefix(1);
  }
  if (digits.size() > kMaxDigits) {
    return std::nullopt;
  }
  std::array<char, kScratchDigits> scratch;
  std::memcpy(scratch.data(), &kZeros, 8);
  std::memcpy(scratch.data() + 8, &kZeros, 8);
  std::memcpy(scratch.data() + 16, &kZeros, 8);
  std::memcpy(scratch.data() + kScratchDigits - digits.size(), digits.data(), digits.size());
  const auto high = parse_eight(scratch.data());
  const auto middle = parse_eight(scratch.data() + 8);
  const auto low = parse_eight(scratch.data() + 16);
  if (!high || !middle || !low) {
    return std::nullopt;
  }
  const std::uint64_t number = (*high * kTenTo8 + *middle) * kTenTo8 + *low;
  return (number >> 63) == 0 ? std::optional(number) : std::nullopt;
}

bool KeyFormat::before(std::uint64_t left, std::uint64_t right) const noexcept {
  if (zero_padding_ >= 19) {
    return left < right;
  }
  std::array<char, kMaxBytes> left_key;
  std::array<char, kMaxBytes> right_key;
  if (zero_padding_ > 1) {
    const std::size_t left_bytes = write(left, left_key.data());
    const std::size_t right_bytes = write(right, right_key.data());
    return std::string_view(left_key.data(), left_bytes) < std::string_view(right_key.data(), right_bytes);
  }
  const Aligned l = align_left(left);
  const Aligned r = align_left(right);
  return l.digits != r.digits ? l.digits < r.digits : l.count < r.count;
}

}  // namespace mxkv::bench

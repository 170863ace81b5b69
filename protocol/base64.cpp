// Base64 (RFC 4648, padded). Strict: no line breaks, no missing padding, and the unused bits of the last
// character are zero, so that a text and its bytes determine each other.
#include <array>
#include <cstdint>

#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return digits;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t index) noexcept {
  return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0;
}

/// The 24 bits of four characters of which the last `padding` are '='; false if one is not a digit.
bool read_group(const char* text, std::size_t padding, std::uint32_t& bits) noexcept {
  bits = 0;
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < 4 - padding; ++i) {
    const std::uint32_t digit = kDigits[static_cast<unsigned char>(text[i])];
    seen |= digit;
    bits |= (digit & 0x3fU) << (18 - 6 * i);
  }
  return (seen & 0x80U) == 0;
}

char byte_of(std::uint32_t bits, unsigned index) noexcept {
  return static_cast<char>(static_cast<unsigned char>(bits >> (16 - 8 * index)));
}

}  // namespace

char* write_base64(char* out, std::string_view bytes) noexcept {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t bits = byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    out[0] = kAlphabet[bits >> 18U];
    out[1] = kAlphabet[bits >> 12U & 0x3fU];
    out[2] = i + 1 < bytes.size() ? kAlphabet[bits >> 6U & 0x3fU] : '=';
    out[3] = i + 2 < bytes.size() ? kAlphabet[bits & 0x3fU] : '=';
    out += 4;
  }
  return out;
}

bool read_base64(std::string_view text, char* out, std::size_t& bytes) noexcept {
  if (text.size() % 4 != 0) {
    return false;
  }
  bytes = 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const std::size_t padding = !last || text[i + 3] != '=' ? 0 : (text[i + 2] == '=' ? 2 : 1);
    std::uint32_t bits = 0;
    if (!read_group(text.data() + i, padding, bits) || (bits & ((1U << (8 * padding)) - 1)) != 0) {
      return false;
    }
    for (unsigned k = 0; k < 3 - padding; ++k) {
      out[bytes] = byte_of(bits, k);
      ++bytes;
    }
  }
  return true;
}

}  // namespace mxkv::protocol

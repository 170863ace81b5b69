// The long way to read a number: nine digits and more.
#include "protocol/numbers.hpp"

namespace mxkv::protocol {

bool read_long_number(std::string_view text, std::uint64_t& value) noexcept {
  if (text.empty()) {
    return false;
  }
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sum = 0;
  for (const char byte : text) {
    const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) - '0';
    if (digit > 9 || sum > largest / 10 || sum * 10 > largest - digit) {
      return false;
    }
    sum = sum * 10 + digit;
  }
  value = sum;
  return true;
}

}  // namespace mxkv::protocol

// Numbers in texts: property files, traces, replies.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace mxkv::bench {

/// A whole text as a decimal number. Nothing if it is none, or above `most`.
template <class Number = std::uint64_t>
std::optional<Number> parse_number(std::string_view text,
                                   Number most = std::numeric_limits<Number>::max()) noexcept {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failed == std::errc{} && end == text.data() + text.size();
  return whole && !(number > most) ? std::optional(number) : std::nullopt;  // "nan" is a number, too
}

}  // namespace mxkv::bench

// A time to live as an argument: seconds, or a number with a unit.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/App.hpp>

#include "protocol/numbers.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {

/// Turns 90s, 10min, 1h or 7d into seconds. Returns an error text, or an empty one; other texts stay as they are.
inline std::string to_seconds(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> kUnits{
      {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86'400}}};
  const std::size_t digits = text.find_first_not_of("0123456789");
  std::uint64_t number = 0;
  if (digits == std::string::npos || !protocol::read_u64(std::string_view(text).substr(0, digits), number)) {
    return {};
  }
  for (const auto& [unit, factor] : kUnits) {
    if (std::string_view(text).substr(digits) == unit &&
        number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / factor) {
      text = std::to_string(number * factor);
      return {};
    }
  }
  return "'" + text + "' is no time: write seconds, or 90s, 10min, 1h, 7d";
}

/// Adds --ttl.
template <class Seconds>
CLI::Option* add_ttl(CLI::App& app, Seconds& seconds, const std::string& help) {
  return app.add_option("--ttl", seconds, help)->transform(CLI::Validator{to_seconds, ""})->type_name("TIME");
}

}  // namespace mxkv::cli

#include "protocol/clients/cli/text/amounts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace mxkv::cli {
namespace {

template <class... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// With three digits in all.
std::string three_digits(double value, const char* unit) {
  return printed(value < 9.995 ? "%.2f%s" : value < 99.95 ? "%.1f%s" : "%.0f%s", value, unit);
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    return printed("%.0fB", bytes);
  }
  std::size_t unit = 0;
  double value = bytes / 1024;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return printed(value < 99.95 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

std::string count_text(double count) {
  if (count < 10'000) {
    return printed(count == std::floor(count) || count >= 100 ? "%.0f" : "%.1f", count);
  }
  constexpr std::array units{"k", "M", "G", "T"};
  std::size_t unit = 0;
  double value = count / 1000;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return three_digits(value, units[unit]);
}

std::string micros_text(double micros) {
  if (micros < 999.5) {
    return printed(micros < 9.95 && micros != std::floor(micros) ? "%.1fus" : "%.0fus", micros);
  }
  return micros < 999'500 ? three_digits(micros / 1000, "ms") : three_digits(micros / 1'000'000, "s");
}

std::string seconds_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) {
    return printed("%llds", whole);
  }
  if (whole < 3600) {
    return printed("%lldm%02llds", whole / 60, whole % 60);
  }
  if (whole < 86'400) {
    return printed("%lldh%02lldm", whole / 3600, whole / 60 % 60);
  }
  return printed("%lldd%02lldh", whole / 86'400, whole / 3600 % 24);
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string blanks(widths[column] - row[column].size(), ' ');
      if (column == 0) {
        text += row.size() == 1 ? row[column] : row[column] + blanks;
      } else {
        text += "  " + blanks + row[column];
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace mxkv::cli

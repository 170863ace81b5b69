// Amounts that are more than a plain number: parts of memory, ranges of counts, sizes rounded for people.
#include <algorithm>
#include <array>
#include <limits>

#include "config/parse.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

constexpr std::uint32_t kNoEnd = std::numeric_limits<std::uint32_t>::max();

std::string quoted_and(std::string_view text, std::string_view what) {
  return "\"" + std::string{text} + "\" " + std::string{what};
}

}  // namespace

Result<MemoryAmount> parse_memory(std::string_view text) {
  if (text == "auto") {
    return MemoryAmount{};
  }
  if (!text.ends_with('%')) {
    const Result<std::size_t> bytes = parse_size(text);
    if (!bytes) {
      const std::string meant = meant_size(text);
      return Error{quoted_and(
          text, "is not an amount of memory" + (meant.empty() ? "" : ", did you mean " + meant + "?") +
                    " (allowed: a size such as 512MiB or 8GiB, a part such as 75%, or auto)")};
    }
    return MemoryAmount{.bytes = bytes.value(), .percent = 0};
  }
  const Result<std::uint64_t> percent = parse_number(text.substr(0, text.size() - 1));
  if (!percent || percent.value() < 1 || percent.value() > 100) {
    return Error{quoted_and(text, "is not a part (allowed: 1% to 100%)")};
  }
  return MemoryAmount{.bytes = 0, .percent = static_cast<std::uint32_t>(percent.value())};
}

Result<CountRange> parse_count_range(std::string_view text) {
  if (text == "any") {
    return CountRange{};
  }
  const Error wrong{quoted_and(
      text, "is not a count (allowed: a number, a range such as 2-4, at least so many such as 2+, or any)")};
  const bool open = text.ends_with('+');
  const std::size_t dash = std::min(text.find('-'), text.size());
  const Result<std::uint64_t> least = parse_number(text.substr(0, open ? text.size() - 1 : dash));
  if (!least) {
    return wrong;
  }
  const Result<std::uint64_t> most = open                  ? Result<std::uint64_t>{kNoEnd}
                                     : dash == text.size() ? least
                                                           : parse_number(text.substr(dash + 1));
  if (!most || least.value() == 0 || least.value() > most.value() || most.value() > kNoEnd) {
    return wrong;
  }
  return CountRange{.least = static_cast<std::uint32_t>(least.value()),
                    .most = static_cast<std::uint32_t>(most.value())};
}

std::string format_memory(const MemoryAmount& amount) {
  if (amount.percent != 0) {
    return std::to_string(amount.percent) + "%";
  }
  return amount.bytes == 0 ? "auto" : format_size(amount.bytes);
}

std::string format_count_range(const CountRange& range) {
  if (range == CountRange{}) {
    return "any";
  }
  if (range.most == kNoEnd) {
    return std::to_string(range.least) + "+";
  }
  return std::to_string(range.least) + (range.least == range.most ? "" : "-" + std::to_string(range.most));
}

std::string format_size_rounded(std::size_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >> (10 * (unit + 1)) != 0) {
    ++unit;
  }
  // Rounds down: the text must not suggest memory that does not exist.
  const std::size_t factor = std::size_t{1} << (10 * unit);
  const std::size_t tenth = bytes % factor * 10 / factor;
  const std::string part = tenth == 0 ? "" : "." + std::to_string(tenth);
  return std::to_string(bytes / factor) + part + std::string{kUnits[unit]};
}

}  // namespace mxkv::config

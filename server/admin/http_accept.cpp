#include "server/admin/http_accept.hpp"

#include <algorithm>

namespace mxkv::server {

namespace {

constexpr unsigned kWhole = 1000;

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Takes the part before the next `separator` that is not in quotes.
std::string_view take_part(std::string_view& text, char separator) noexcept {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < text.size() && (quoted || text[end] != separator); ++end) {
    if (text[end] == '"') {
      quoted = !quoted;
    } else if (text[end] == '\\' && quoted && end + 1 < text.size()) {
      ++end;
    }
  }
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(part);
}

bool same_letters(std::string_view text, std::string_view lower) noexcept {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && static_cast<char>(a | 0x20) == b);
  });
}

/// "0", "1", or either with up to three digits behind a point; any other text counts as no weight.
unsigned read_weight(std::string_view text) noexcept {
  const bool form = !text.empty() && text.size() <= 5 && (text[0] == '0' || text[0] == '1') &&
                    (text.size() == 1 || text[1] == '.');
  if (!form) {
    return kWhole;
  }
  unsigned weight = text[0] == '1' ? kWhole : 0;
  unsigned place = kWhole / 10;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (c < '0' || c > '9') {
      return kWhole;
    }
    weight += static_cast<unsigned>(c - '0') * place;
    place /= 10;
  }
  return std::min(weight, kWhole);
}

/// How closely `range` names the type: 0 not at all, 1 by */*, 2 by its first half, 3 exactly.
int closeness(std::string_view range, std::string_view type) noexcept {
  const std::string_view half = type.substr(0, type.find('/') + 1);
  if (same_letters(range, type)) {
    return 3;
  }
  if (range.size() == half.size() + 1 && range.ends_with('*') &&
      same_letters(range.substr(0, half.size()), half)) {
    return 2;
  }
  return range == "*/*" ? 1 : 0;
}

}  // namespace

AcceptWeight weight_of(std::string_view accept, std::string_view type) noexcept {
  int closest = 0;
  unsigned greatest = 0;
  while (!accept.empty()) {
    std::string_view entry = take_part(accept, ',');
    const int close = closeness(take_part(entry, ';'), type);
    unsigned weight = kWhole;
    while (!entry.empty()) {
      const std::string_view parameter = take_part(entry, ';');
      if (parameter.starts_with("q=") || parameter.starts_with("Q=")) {
        weight = read_weight(parameter.substr(2));
      }
    }
    if (close > closest || (close != 0 && close == closest && weight > greatest)) {
      closest = close;
      greatest = weight;
    }
  }
  return {.thousandths = greatest, .named = closest == 3};
}

}  // namespace mxkv::server

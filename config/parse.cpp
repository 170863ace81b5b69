// Strict parsing of values as people write them, and formatting them.
#include "config/parse.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::PuId;
using runtime::Result;

// A unit and its number of smallest units; ascending in a table.
struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 5> kSizeUnits{{{"B", 1},
                                          {"KiB", std::uint64_t{1} << 10U},
                                          {"MiB", std::uint64_t{1} << 20U},
                                          {"GiB", std::uint64_t{1} << 30U},
                                          {"TiB", std::uint64_t{1} << 40U}}};
constexpr std::array<Unit, 4> kDurationUnits{{{"ms", 1}, {"s", 1'000}, {"min", 60'000}, {"h", 3'600'000}}};

// How else people write units of time.
struct MeantUnit {
  std::string_view written;
  std::uint64_t times;
  std::string_view unit;
};
constexpr std::array<MeantUnit, 16> kMeantUnits{{{"ms", 1, "ms"},
                                                 {"msec", 1, "ms"},
                                                 {"s", 1, "s"},
                                                 {"sec", 1, "s"},
                                                 {"second", 1, "s"},
                                                 {"seconds", 1, "s"},
                                                 {"m", 1, "min"},
                                                 {"min", 1, "min"},
                                                 {"mins", 1, "min"},
                                                 {"minute", 1, "min"},
                                                 {"minutes", 1, "min"},
                                                 {"h", 1, "h"},
                                                 {"hour", 1, "h"},
                                                 {"hours", 1, "h"},
                                                 {"d", 24, "h"},
                                                 {"w", 168, "h"}}};

Error mistake(std::string_view text, std::string_view what, std::string_view allowed) {
  std::string message;
  message.append("\"")
      .append(text)
      .append("\" ")
      .append(what)
      .append(" (allowed: ")
      .append(allowed)
      .append(")");
  return Error{std::move(message)};
}

// All of `text` as a decimal number: no sign, no spaces.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// "12unit" by a table of units; nothing if it is malformed or above `most`.
template <std::size_t N>
std::optional<std::uint64_t> number_with_unit(std::string_view text, const std::array<Unit, N>& units,
                                              std::string_view unit_if_none, std::uint64_t most) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = digits == text.size() ? unit_if_none : text.substr(digits);
  const auto at = std::ranges::find(units, unit, &Unit::name);
  const std::optional<std::uint64_t> number = whole_number(text.substr(0, digits));
  if (at == units.end() || !number || *number > most / at->factor) {
    return std::nullopt;
  }
  return *number * at->factor;
}

// The largest unit that leaves no remainder.
template <std::size_t N>
std::string with_unit(std::uint64_t value, const std::array<Unit, N>& units) {
  Unit best = units.front();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      best = unit;
    }
  }
  return std::to_string(value / best.factor).append(best.name);
}

constexpr std::string_view kCpusAllowed = "CPU numbers and ranges such as 0-3,8, or all";

std::optional<PuId> cpu_number(std::string_view text) {
  const std::optional<std::uint64_t> number = whole_number(text);
  if (!number || *number > std::numeric_limits<PuId::rep>::max()) {
    return std::nullopt;
  }
  return PuId{static_cast<PuId::rep>(*number)};
}

// A text of letters, digits, hyphens and dots, with at least one letter: not an address, but a name for a
// resolver.
bool is_host_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && std::ranges::any_of(text, letter) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text) {
  if (const std::optional<std::uint64_t> number = whole_number(text)) {
    return *number;
  }
  return mistake(text, "is not a number", "decimal digits");
}

std::string meant_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view rest = text.substr(digits);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (digits == 0 || rest.empty()) {
    return {};
  }
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  std::string_view tail = rest.substr(1);
  if (!tail.empty() && upper(tail.front()) == 'I') {
    tail.remove_prefix(1);
  }
  if (!tail.empty() && upper(tail.front()) == 'B') {
    tail.remove_prefix(1);
  }
  const auto unit = std::ranges::find(kSizeUnits.begin() + 1, kSizeUnits.end(), upper(rest.front()),
                                      [](const Unit& one) { return one.name.front(); });
  if (!tail.empty() || unit == kSizeUnits.end()) {
    return {};
  }
  std::string meant = std::string{text.substr(0, digits)}.append(unit->name);
  return meant == text ? std::string{} : meant;  // it was written so, and is too large
}

Result<std::size_t> parse_size(std::string_view text) {
  const auto bytes = number_with_unit(text, kSizeUnits, "B", std::numeric_limits<std::size_t>::max());
  if (!bytes) {
    const std::string meant = meant_size(text);
    return mistake(text, meant.empty() ? "is not a size" : "is not a size, did you mean " + meant + "?",
                   "a whole number of bytes, or of KiB, MiB, GiB, TiB, such as 512MiB");
  }
  return *bytes;
}

std::string meant_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string unit{text.substr(digits)};
  std::erase(unit, ' ');
  std::ranges::transform(unit, unit.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::optional<std::uint64_t> number = whole_number(text.substr(0, digits));
  const auto known = std::ranges::find(kMeantUnits, unit, &MeantUnit::written);
  if (!number || known == kMeantUnits.end() || *number > std::numeric_limits<std::uint32_t>::max()) {
    return {};
  }
  std::string meant = std::to_string(*number * known->times).append(known->unit);
  return meant == text || !parse_duration_ms(meant) ? std::string{} : meant;
}

Result<std::uint32_t> parse_duration_ms(std::string_view text) {
  const auto ms = number_with_unit(text, kDurationUnits, "", std::numeric_limits<std::uint32_t>::max());
  if (!ms) {
    const std::string meant = meant_duration(text);
    return mistake(text,
                   meant.empty() ? "is not a duration" : "is not a duration, did you mean " + meant + "?",
                   "a whole number of ms, s, min or h, such as 50ms");
  }
  return static_cast<std::uint32_t>(*ms);
}

Result<std::vector<PuId>> parse_cpu_list(std::string_view text) {
  std::vector<PuId> cpus;
  if (text == "all") {
    return cpus;
  }
  std::vector<bool> seen(std::size_t{std::numeric_limits<PuId::rep>::max()} + 1);
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    rest = more ? rest.substr(comma + 1) : std::string_view{};
    const std::size_t dash = part.find('-');
    const std::optional<PuId> first = cpu_number(part.substr(0, dash));
    const std::optional<PuId> last =
        dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return mistake(text, "is not a list of CPUs", kCpusAllowed);
    }
    for (std::size_t cpu = first->index(); cpu <= last->index(); ++cpu) {
      if (seen[cpu]) {
        return mistake(text, "names CPU " + std::to_string(cpu) + " twice", kCpusAllowed);
      }
      seen[cpu] = true;
      cpus.emplace_back(static_cast<PuId::rep>(cpu));
    }
  }
  return cpus;
}

Result<std::string> parse_socket_path(std::string_view text) {
  constexpr std::size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 1;
  constexpr std::string_view kAllowed =
      "the path of a unix socket, such as /run/mxkv.sock, of at most 107 bytes";
  static_assert(kMostBytes == 107);
  if (text.empty() || text.size() > kMostBytes || text.find('\0') != std::string_view::npos) {
    return mistake(text, "is not a valid path of a unix socket", kAllowed);
  }
  return std::string{text};
}

Result<std::uint32_t> parse_file_mode(std::string_view text) {
  const std::string_view digits = text.size() == 4 && text.front() == '0' ? text.substr(1) : text;
  std::uint32_t mode = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') {
      mode = 0;
      break;
    }
    mode = mode * 8 + static_cast<std::uint32_t>(digit - '0');
  }
  if (digits.size() != 3 || mode == 0) {
    return mistake(text, "is not a file mode", "octal digits such as 0660, not all of them 0");
  }
  return mode;
}

Result<ListenAddress> parse_listen(std::string_view text) {
  constexpr std::string_view kAllowed =
      "an address in numbers and a port, such as 127.0.0.1:11211 or [::1]:11211, or unix:PATH";
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    Result<std::string> path = parse_socket_path(text.substr(kUnix.size()));
    if (!path) {
      return path.error();
    }
    ListenAddress listen;
    listen.path = std::move(path).value();
    return listen;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return mistake(text, "is not an address and a port", kAllowed);
  }
  std::string address{text.substr(0, colon)};
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) {
    address = address.substr(1, address.size() - 2);
  }
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  if (inet_pton(bracketed ? AF_INET6 : AF_INET, address.c_str(), ignored.data()) != 1) {
    const bool name = !bracketed && is_host_name(address);
    return mistake(text, name ? "names a host, and names are not looked up" : "is not an address and a port",
                   kAllowed);
  }
  const std::optional<std::uint64_t> port = whole_number(text.substr(colon + 1));
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) {
    return mistake(text, "needs a port from 0 to 65535", kAllowed);
  }
  ListenAddress listen;
  listen.address = std::move(address);
  listen.port = static_cast<std::uint16_t>(*port);
  return listen;
}

std::string format_size(std::size_t bytes) {
  return with_unit(bytes, kSizeUnits);
}

std::string format_duration_ms(std::uint32_t milliseconds) {
  return with_unit(milliseconds, kDurationUnits);
}

std::string format_cpu_list(const std::vector<PuId>& cpus) {
  if (cpus.empty()) {
    return "all";
  }
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end].index() == cpus[end - 1].index() + 1) {
      ++end;
    }
    text.append(text.empty() ? "" : ",").append(std::to_string(cpus[i].value()));
    if (end - i > 1) {
      text.append("-").append(std::to_string(cpus[end - 1].value()));
    }
    i = end;
  }
  return text;
}

std::string format_file_mode(std::uint32_t mode) {
  std::string text = "0";
  for (const unsigned shift : {6U, 3U, 0U}) {
    text += static_cast<char>('0' + ((mode >> shift) & 7U));
  }
  return text;
}

std::string format_listen(const ListenAddress& listen) {
  if (!listen.path.empty()) {
    return "unix:" + listen.path;
  }
  const bool v6 = listen.address.find(':') != std::string::npos;
  return (v6 ? "[" + listen.address + "]" : listen.address) + ":" + std::to_string(listen.port);
}

}  // namespace mxkv::config

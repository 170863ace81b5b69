#include "bench/workload/properties.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <utility>

#include "bench/workload/number.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::bench {
namespace {

constexpr std::string_view kBlank = " \t\f";
constexpr std::string_view kBlankOrEnd = " \t\f\r\n";

/// Takes the next natural line off `text`; it ends with LF, CR, or both.
std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return line;
}

std::string_view without_leading_blanks(std::string_view line) noexcept {
  const std::size_t at = line.find_first_not_of(kBlank);
  return at == std::string_view::npos ? std::string_view{} : line.substr(at);
}

/// A line goes on in the next if it ends with a backslash that is not itself escaped.
bool goes_on(std::string_view line) noexcept {
  const std::size_t last_other = line.find_last_not_of('\\');
  const std::size_t slashes =
      last_other == std::string_view::npos ? line.size() : line.size() - last_other - 1;
  return slashes % 2 == 1;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6));
  } else {
    out += static_cast<char>(0xE0U | (code >> 12));
    out += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
  }
  out += static_cast<char>(0x80U | (code & 0x3FU));
}

/// Resolves escapes; returns nothing if one is malformed.
std::optional<std::string> unescape(std::string_view text) {
  constexpr std::size_t kCodeDigits = 4;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (const char escaped = text[++i]) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        const std::string_view digits = text.substr(i + 1, kCodeDigits);
        unsigned code = 0;
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (failed != std::errc{} || end != digits.data() + kCodeDigits) {
          return std::nullopt;
        }
        append_utf8(out, code);
        i += kCodeDigits;
        break;
      }
      default:
        out += escaped;
    }
  }
  return out;
}

/// The end of a setting's name: an unescaped '=', ':' or blank.
std::size_t name_end(std::string_view line) noexcept {
  std::size_t at = 0;
  while (at < line.size() && line[at] != '=' && line[at] != ':' &&
         kBlank.find(line[at]) == std::string_view::npos) {
    at += line[at] == '\\' ? 2 : 1;
  }
  return std::min(at, line.size());
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlankOrEnd);
  if (first == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(first, text.find_last_not_of(kBlankOrEnd) - first + 1));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

}  // namespace

void Properties::set(std::string name, std::string value, std::string origin) {
  entries_.insert_or_assign(std::move(name), Entry{std::move(value), std::move(origin)});
}

runtime::Result<std::size_t> Properties::parse(std::string_view text, const std::string& file) {
  std::size_t settings = 0;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string origin = file + ":" + std::to_string(number);
    std::string line(without_leading_blanks(take_line(text)));
    if (line.empty() || line[0] == '#' || line[0] == '!') {
      continue;
    }
    while (goes_on(line)) {
      line.pop_back();
      if (text.empty() || line.empty()) {
        break;
      }
      line += without_leading_blanks(take_line(text));
      ++number;
    }
    if (line.empty()) {
      continue;  // after a lone backslash, the next line stands alone, as in Java
    }
    const std::string_view setting = line;
    const std::size_t end = name_end(setting);
    std::string_view rest = without_leading_blanks(setting.substr(end));
    if (rest.starts_with('=') || rest.starts_with(':')) {
      rest = without_leading_blanks(rest.substr(1));
    }
    auto name = unescape(setting.substr(0, end));
    auto value = unescape(rest);
    if (!name || !value) {
      return runtime::Error{origin + ": malformed \\u escape: four hexadecimal digits must follow"};
    }
    set(*std::move(name), *std::move(value), origin);
    ++settings;
  }
  return settings;
}

runtime::Result<std::string> read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  std::array<char, 4096> piece;
  while (stream.read(piece.data(), piece.size()), stream.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad()) {
    return runtime::Error{file + ": cannot be read"};
  }
  return std::string{runtime::without_byte_order_mark(text)};
}

runtime::Result<std::size_t> Properties::load(const std::string& file) {
  const auto text = read_file(file);
  return text ? parse(text.value(), file) : text.error();
}

const Properties::Entry* Properties::find(std::string_view name) const {
  asked_.emplace(name);
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

std::vector<std::pair<std::string, std::string>> Properties::unknown() const {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [name, entry] : entries_) {
    if (!asked_.contains(name)) {
      names.emplace_back(name, entry.origin);
    }
  }
  return names;
}

void PropertyReader::complain(std::string_view name, const std::string& what) {
  const Properties::Entry* entry = properties_.find(name);
  problems_.push_back((entry != nullptr ? entry->origin + ": " : "") + std::string(name) + ": " + what);
}

std::uint64_t PropertyReader::whole(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                                    std::uint64_t most) {
  const Properties::Entry* entry = properties_.find(name);
  if (entry == nullptr) {
    return otherwise;
  }
  const auto number = parse_number(trimmed(entry->value));
  if (!number) {
    complain(name, "'" + trimmed(entry->value) + "' is not a whole number");
  } else if (*number < least || *number > most) {
    complain(name, std::to_string(*number) + " is not within " + std::to_string(least) + " to " +
                       std::to_string(most));
  } else {
    return *number;
  }
  return otherwise;
}

double PropertyReader::real(std::string_view name, double otherwise, double least, double most) {
  const Properties::Entry* entry = properties_.find(name);
  if (entry == nullptr) {
    return otherwise;
  }
  const std::string value = trimmed(entry->value);
  const auto number = parse_number<double>(value);
  if (!number) {
    complain(name, "'" + value + "' is not a number");
  } else if (!(*number >= least && *number <= most)) {
    const auto shown = [](double bound) {
      char text[32];
      return std::string(text, std::to_chars(text, text + sizeof text, bound).ptr);
    };
    complain(name, value + " is not within " + shown(least) + " to " + shown(most));
  } else {
    return *number;
  }
  return otherwise;
}

bool PropertyReader::truth(std::string_view name, bool otherwise) {
  const Properties::Entry* entry = properties_.find(name);
  if (entry == nullptr) {
    return otherwise;
  }
  const std::string value = lower(trimmed(entry->value));
  if (value != "true" && value != "false") {
    complain(name, "'" + value + "' is neither true nor false");
  }
  return value == "true";
}

std::string PropertyReader::text(std::string_view name, std::string_view otherwise) {
  const Properties::Entry* entry = properties_.find(name);
  return entry == nullptr ? std::string(otherwise) : trimmed(entry->value);
}

std::size_t PropertyReader::choice(std::string_view name, const std::vector<std::string_view>& names,
                                   std::size_t otherwise) {
  const std::string value = text(name, names.at(otherwise));
  const auto at = std::find(names.begin(), names.end(), value);
  if (at != names.end()) {
    return static_cast<std::size_t>(at - names.begin());
  }
  std::string what = "'" + value + "' is not one of";
  for (const std::string_view known : names) {
    what += (known == names.front() ? " " : ", ") + std::string(known);
  }
  complain(name, what);
  return otherwise;
}

}  // namespace mxkv::bench

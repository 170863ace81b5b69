#include "protocol/clients/cli/text/quoting.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "protocol/clients/cli/failure.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::array<std::pair<char, char>, 6> kEscapes{
    {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'0', '\0'}, {'\\', '\\'}, {'"', '"'}}};

[[noreturn]] void wrong(const std::string& text) {
  throw Failure(Outcome::usage, text);
}

unsigned hex_digit(char digit) {
  const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  const std::size_t value = kHexDigits.find(lower);
  if (value == std::string_view::npos) {
    wrong("\\x must be followed by two hexadecimal digits");
  }
  return static_cast<unsigned>(value);
}

/// The byte of the escape behind the backslash at `at`, which moves behind it.
char take_escape(std::string_view line, std::size_t& at) {
  if (at + 1 >= line.size()) {
    wrong("a backslash at the end escapes nothing");
  }
  const char letter = line[at + 1];
  at += 2;
  for (const auto& [written, byte] : kEscapes) {
    if (letter == written) {
      return byte;
    }
  }
  if (letter != 'x') {
    wrong(std::string("\\") + letter + " is not an escape; these are: \\n \\r \\t \\0 \\\\ \\\" \\xNN");
  }
  if (at + 2 > line.size()) {
    wrong("\\x must be followed by two hexadecimal digits");
  }
  const unsigned byte = hex_digit(line[at]) << 4U | hex_digit(line[at + 1]);
  at += 2;
  return static_cast<char>(static_cast<unsigned char>(byte));
}

/// Takes a quoted text from the opening quote on; moves `at` behind the closing quote.
void take_quoted(std::string_view line, std::size_t& at, std::string& word) {
  const char quote = line[at];
  for (++at; at < line.size() && line[at] != quote;) {
    if (quote == '"' && line[at] == '\\') {
      word += take_escape(line, at);
    } else {
      word += line[at];
      ++at;
    }
  }
  if (at == line.size()) {
    wrong(std::string("a ") + quote + " is not closed");
  }
  ++at;
}

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool is_simple(std::string_view bytes) {
  return !bytes.empty() && bytes.front() != '#' && bytes.find_first_of(" \"'\\") == std::string_view::npos &&
         runtime::is_readable(bytes);
}

void append_escape(std::string& text, char byte) {
  const auto* const named = std::ranges::find(kEscapes, byte, &std::pair<char, char>::second);
  text += '\\';
  if (named != kEscapes.end()) {
    text += named->first;
    return;
  }
  const auto code = static_cast<unsigned char>(byte);
  text += 'x';
  text += kHexDigits[code >> 4U];
  text += kHexDigits[code & 0xfU];
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    if (line[at] == '#') {
      break;
    }
    std::string& word = words.emplace_back();
    while (at < line.size() && !is_blank(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {
        take_quoted(line, at, word);
        continue;
      }
      if (line[at] == '\\') {
        ++at;
        if (at == line.size()) {
          wrong("a backslash at the end escapes nothing");
        }
      }
      word += line[at];
      ++at;
    }
  }
  return words;
}

std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\') {
      result += take_escape(text, at);
    } else {
      result += text[at];
      ++at;
    }
  }
  return result;
}

std::string quoted_word(std::string_view bytes) {
  if (is_simple(bytes)) {
    return std::string(bytes);
  }
  std::string text = "\"";
  while (!bytes.empty()) {
    const bool special = bytes.front() == '"' || bytes.front() == '\\';
    const std::size_t readable = special ? 0 : runtime::readable_bytes(bytes);
    if (readable == 0) {
      append_escape(text, bytes.front());
    } else {
      text.append(bytes.substr(0, readable));
    }
    bytes.remove_prefix(std::max<std::size_t>(readable, 1));
  }
  return text + '"';
}

}  // namespace mxkv::cli

#include "protocol/clients/cli/text/quoting.hpp"

#include <array>
#include <cstddef>

#include "protocol/clients/cli/failure.hpp"

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
    wrong("behind \\x stand two digits of 0-9, a-f");
  }
  return static_cast<unsigned>(value);
}

/// The byte of the escape behind the backslash at `at`, which moves behind it.
char take_escape(std::string_view line, std::size_t& at) {
  if (at + 1 >= line.size()) {
    wrong("nothing stands behind the last backslash");
  }
  const char letter = line[at + 1];
  at += 2;
  for (const auto& [written, byte] : kEscapes) {
    if (letter == written) {
      return byte;
    }
  }
  if (letter != 'x') {
    wrong(std::string("\\") + letter + " is no escape: \\n \\r \\t \\0 \\\\ \\\" \\xNN are");
  }
  if (at + 2 > line.size()) {
    wrong("behind \\x stand two digits of 0-9, a-f");
  }
  const unsigned byte = hex_digit(line[at]) << 4U | hex_digit(line[at + 1]);
  at += 2;
  return static_cast<char>(static_cast<unsigned char>(byte));
}

/// From the opening quote on; moves behind the closing one.
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
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code <= 0x20 || code == 0x7f || byte == '"' || byte == '\'' || byte == '\\') {
      return false;
    }
  }
  return !bytes.empty() && bytes.front() != '#' && is_utf8(bytes);
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
          wrong("nothing stands behind the last backslash");
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
  const bool readable = is_utf8(bytes);
  std::string text = "\"";
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    const bool raw = code >= 0x20 && code != 0x7f && (code < 0x80 || readable);
    if (raw && byte != '"' && byte != '\\') {
      text += byte;
      continue;
    }
    text += '\\';
    bool named = false;
    for (const auto& [written, escaped] : kEscapes) {
      if (byte == escaped) {
        text += written;
        named = true;
      }
    }
    if (!named) {
      text += 'x';
      text += kHexDigits[code >> 4U];
      text += kHexDigits[code & 0xfU];
    }
  }
  return text + '"';
}

bool is_utf8(std::string_view bytes) noexcept {
  std::size_t at = 0;
  const auto code = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  while (at < bytes.size()) {
    const unsigned lead = code(at);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const std::size_t more = lead >= 0xc2 && lead < 0xe0   ? 1
                             : (lead & 0xf0U) == 0xe0      ? 2
                             : lead >= 0xf0 && lead < 0xf5 ? 3
                                                           : 0;
    if (more == 0 || at + more >= bytes.size()) {
      return false;
    }
    for (std::size_t k = 1; k <= more; ++k) {
      if ((code(at + k) & 0xc0U) != 0x80) {
        return false;
      }
    }
    const unsigned second = code(at + 1);
    // Longer than needed, half of a pair, or beyond the last character.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) {
      return false;
    }
    at += 1 + more;
  }
  return true;
}

}  // namespace mxkv::cli

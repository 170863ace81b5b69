#include "config/yaml_text.hpp"

namespace mxkv::config {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

/// Whether the text has no character that YAML interprets.
bool is_plain(std::string_view text) {
  constexpr std::string_view kHarmless = "./_%+-";
  if (text.empty() || text == "." || text.front() == '-' || text.front() == '%') {
    return false;
  }
  for (const char byte : text) {
    if (!is_letter(byte) && kHarmless.find(byte) == std::string_view::npos) {
      return false;
    }
  }
  return text != "null" && text != "Null" && text != "NULL";
}

}  // namespace

std::string in_yaml_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      quoted.append("\\").push_back(byte);
    } else if (code < 0x20 || code == 0x7F) {
      quoted.append("\\x").push_back(kDigits[code / 16]);
      quoted.push_back(kDigits[code % 16]);
    } else {
      quoted.push_back(byte);
    }
  }
  return quoted.append("\"");
}

std::string to_yaml(std::string_view text) {
  return is_plain(text) ? std::string{text} : in_yaml_quotes(text);
}

}  // namespace mxkv::config

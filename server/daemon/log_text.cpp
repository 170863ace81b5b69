#include "server/daemon/log_text.hpp"

#include <cstdint>

namespace mxkv::server {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr unsigned char kDelete = 0x7F;

bool is_control(unsigned char byte) {
  return byte < ' ' || byte == kDelete;
}

std::string hex(unsigned char byte) {
  return {kHex[byte >> 4U], kHex[byte & 15U]};
}

/// Bytes of the UTF-8 character at the front, by RFC 3629; 0: there is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&at](std::size_t i, unsigned least = 0x80, unsigned most = 0xBF) {
    return at(i) >= least && at(i) <= most;
  };
  const unsigned first = at(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {  // no overlong forms, no surrogates
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {  // up to U+10FFFF
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3)
               ? 4
               : 0;
  }
  return 0;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      line += "\\n";
    } else if (letter == '\t') {
      line += "\\t";
    } else if (is_control(byte)) {
      line += "\\x" + hex(byte);
    } else {
      line += letter;
    }
  }
  return line;
}

std::string json_text(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t bytes = utf8_bytes(text);
    if (bytes == 0) {
      line += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (byte == '"' || byte == '\\') {
      line += '\\';
      line += text.front();
    } else if (is_control(byte)) {
      line += "\\u00" + hex(byte);
    } else {
      line += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return line;
}

}  // namespace mxkv::server

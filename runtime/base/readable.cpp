#include "runtime/base/readable.hpp"

#include <array>
#include <cstdint>

namespace mxkv::runtime {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

/// The character that `text` begins with, by RFC 3629: shortest form, no halves of pairs, nothing beyond U+10FFFF.
Character first_character(std::string_view text) noexcept {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) {
    return {lead, 1};
  }
  const std::size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) {
    return {};
  }
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte_at(text, at) & 0xc0U) != 0x80) {
      return {};
    }
    code = code << 6U | (byte_at(text, at) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool half = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || half || code > 0x10ffff ? Character{} : Character{code, bytes};
}

bool is_between(std::uint32_t code, std::uint32_t first, std::uint32_t last) noexcept {
  return code >= first && code <= last;
}

/// Characters that do something to a terminal or to the text around them.
bool acts(std::uint32_t code) noexcept {
  return code < 0x20 || is_between(code, 0x7f, 0x9f) ||                           // C0, DEL, C1
         is_between(code, 0x200e, 0x200f) || is_between(code, 0x2028, 0x202e) ||  // directions, separators
         is_between(code, 0x2066, 0x2069) || code == 0x061c || code == 0xfeff;
}

void append_escaped(std::string& out, char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (byte == '\n' || byte == '\t') {
    out += byte == '\n' ? "\\n" : "\\t";
    return;
  }
  const auto code = static_cast<unsigned char>(byte);
  out.append("\\x").append(1, kHex[code >> 4U]).append(1, kHex[code & 15U]);
}

}  // namespace

std::size_t readable_bytes(std::string_view text) noexcept {
  const Character first = first_character(text);
  return acts(first.code) ? 0 : first.bytes;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.bytes == 0) {
      return false;
    }
    text.remove_prefix(first.bytes);
  }
  return true;
}

bool is_readable(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = readable_bytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

std::string readable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = kept.find(text.front()) != std::string_view::npos ? 1 : readable_bytes(text);
    if (bytes == 0) {
      append_escaped(out, text.front());
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
  return out;
}

std::string readable_word(std::string_view text) {
  std::string word = readable(text);
  for (std::size_t at = word.find(' '); at != std::string::npos; at = word.find(' ', at)) {
    word.replace(at, 1, "\\x20");
  }
  return word;
}

std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace mxkv::runtime

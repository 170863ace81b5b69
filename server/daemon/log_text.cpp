#include "server/daemon/log_text.hpp"

#include <nlohmann/json.hpp>

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
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const std::string quoted = nlohmann::json(text).dump(-1, ' ', false, kReplace);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace mxkv::server

// Requests of the binary protocol for tests, and the contents of an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/binary.hpp"

namespace mxkv::protocol {

/// `bytes` bytes, the first the highest.
inline std::string big(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned n = bytes; n > 0; --n) {
    text += static_cast<char>(value >> (8 * (n - 1)));
  }
  return text;
}

/// A request. Its header's lengths follow from its parts, unless `body` says otherwise.
struct Packet {
  opcode code = opcode::get;
  std::string key{};
  std::string value{};
  std::string extras{};
  std::uint64_t cas = 0;
  std::string opaque = "opaq";
  std::uint64_t more_body = 0;

  [[nodiscard]] std::string wire() const {
    return "\x80" + big(static_cast<std::uint8_t>(code), 1) + big(key.size(), 2) + big(extras.size(), 1) +
           big(0, 3) + big(extras.size() + key.size() + value.size() + more_body, 4) + opaque + big(cas, 8) +
           extras + key + value;
  }
};

/// How many bytes of extras a request usually has.
inline std::size_t usual_extras(opcode code) {
  switch (code) {
    case opcode::set:
    case opcode::setq:
    case opcode::add:
    case opcode::addq:
    case opcode::replace:
    case opcode::replaceq:
      return 8;
    case opcode::increment:
    case opcode::incrementq:
    case opcode::decrement:
    case opcode::decrementq:
      return 20;
    case opcode::touch:
    case opcode::gat:
    case opcode::gatq:
    case opcode::gatk:
    case opcode::gatkq:
    case opcode::verbosity:
      return 4;
    default:
      return 0;
  }
}

inline std::string set_extras(std::uint32_t flags = 0, std::uint32_t exptime = 0) {
  return big(flags, 4) + big(exptime, 4);
}
inline std::string count_extras(std::uint64_t delta, std::uint64_t initial, std::uint32_t exptime) {
  return big(delta, 8) + big(initial, 8) + big(exptime, 4);
}

/// An answer as people read it: opcode, status, opaque, then cas, extras, key and value where it has them.
inline std::string told(std::string_view& stream) {
  const auto number = [&stream](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char byte : stream.substr(at, bytes)) {
      value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
  };
  if (stream.size() < kBinaryHeaderBytes || stream.front() != '\x81' ||
      stream.size() < kBinaryHeaderBytes + number(8, 4)) {
    return "no answer: " + std::string{stream};
  }
  const std::uint64_t key = number(2, 2);
  const std::uint64_t extras = number(4, 1);
  const std::uint64_t body = number(8, 4);
  std::string text = std::to_string(number(1, 1)) + " " + std::to_string(number(6, 2)) + " " +
                     std::string{stream.substr(12, 4)};
  if (const std::uint64_t cas = number(16, 8); cas != 0) {
    text += " cas " + std::to_string(cas);
  }
  if (extras != 0) {
    text += " extras " + std::to_string(number(kBinaryHeaderBytes, extras));
  }
  if (key != 0) {
    text += " key " + std::string{stream.substr(kBinaryHeaderBytes + extras, key)};
  }
  if (body > extras + key) {
    text += ": " + std::string{stream.substr(kBinaryHeaderBytes + extras + key, body - extras - key)};
  }
  stream.remove_prefix(kBinaryHeaderBytes + body);
  return text;
}
inline std::vector<std::string> all_told(std::string_view stream) {
  std::vector<std::string> answers;
  while (!stream.empty()) {
    answers.push_back(told(stream));
    if (answers.back().starts_with("no answer")) {
      break;
    }
  }
  return answers;
}

}  // namespace mxkv::protocol

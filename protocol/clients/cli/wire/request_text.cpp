#include "protocol/clients/cli/wire/request_text.hpp"

#include "protocol/clients/cli/failure.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace mxkv::cli {
namespace {

constexpr char kGreatestByte = '\xff';

void append_number(std::string& out, char letter, std::string_view number) {
  out += ' ';
  out += letter;
  out += number;
}

}  // namespace

bool is_plain_key(std::string_view key) noexcept {
  if (key.empty() || key.size() > protocol::kMaxKeyBytes) {
    return false;
  }
  for (const char byte : key) {
    if (!protocol::is_key_byte(byte)) {
      return false;
    }
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  protocol::write_base64(text.data(), bytes);
  return text;
}

void check_key(std::string_view key) {
  if (key.empty() || key.size() > protocol::kMaxKeyBytes) {
    throw Failure(Outcome::usage, "a key must have 1 to " + std::to_string(protocol::kMaxKeyBytes) +
                                      " bytes, not " + std::to_string(key.size()));
  }
}

void append_command(std::string& out, protocol::verb op, std::string_view key) {
  check_key(key);
  out += protocol::name_of(op);
  out += ' ';
  if (is_plain_key(key)) {
    out += key;
  } else {
    out += to_base64(key);
    out += " b";
  }
}

void append_store(std::string& out, std::string_view key, std::string_view value,
                  const StoreOptions& options) {
  check_key(key);
  const bool plain = is_plain_key(key);
  out += protocol::name_of(protocol::verb::meta_set);
  out += ' ';
  if (plain) {
    out += key;
  } else {
    out += to_base64(key);
  }
  out += ' ';
  out += std::to_string(value.size());
  if (!plain) {
    out += " b";
  }
  if (options.mode != 'S') {
    append_number(out, 'M', {&options.mode, 1});
  }
  if (options.flags != 0) {
    append_number(out, 'F', std::to_string(options.flags));
  }
  if (options.seconds) {
    append_number(out, 'T', std::to_string(*options.seconds));
  }
  if (options.compare) {
    append_number(out, 'C', std::to_string(*options.compare));
  }
  if (options.unique) {
    append_number(out, 'E', std::to_string(*options.unique));
  }
  out += options.quiet ? " q\r\n" : "\r\n";
  out += value;
  out += "\r\n";
}

std::string range_line(protocol::verb op, const Range& range) {
  if (range.prefix && !range.prefix->empty()) {
    std::string line;
    append_command(line, op, *range.prefix);
    return line + (range.reverse ? " p r" : " p");
  }
  // In walking order.
  std::optional<std::string> start = range.reverse ? range.to : range.from;
  const std::optional<std::string>& far = range.reverse ? range.from : range.to;
  bool exclusive = range.reverse || range.from_exclusive;
  const bool far_inclusive = range.reverse && !range.from_exclusive;
  const bool coded = (start && (!is_plain_key(*start) || *start == "-")) || (far && !is_plain_key(*far));
  if (!start && coded) {
    // With coded keys `-` would be a key, so the least or the greatest key takes its place.
    start = range.reverse ? std::string(protocol::kMaxKeyBytes, kGreatestByte) : std::string(1, '\0');
    exclusive = false;
  }
  std::string line(protocol::name_of(op));
  line += ' ';
  line += !start ? "-" : coded ? to_base64(*start) : *start;
  line += coded ? " b" : "";
  line += range.reverse ? " r" : "";
  line += start && exclusive ? " o" : "";
  if (far) {
    append_number(line, 'H', coded ? to_base64(*far) : *far);
    line += far_inclusive ? " i" : "";
  }
  return line;
}

Range as_bounds(const Range& range) {
  Range bounds = range;
  if (!range.prefix || range.prefix->empty()) {
    bounds.prefix.reset();
    return bounds;
  }
  bounds.from = range.prefix;
  bounds.prefix.reset();
  std::string end = *range.prefix;
  while (!end.empty() && end.back() == kGreatestByte) {
    end.pop_back();
  }
  if (!end.empty()) {
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    bounds.to = end;
  }
  return bounds;
}

}  // namespace mxkv::cli

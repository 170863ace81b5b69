#include "protocol/fast_lines.hpp"

#include <cstdint>
#include <limits>
#include <string_view>

#include "protocol/numbers.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::uint64_t kFourBytes = 0xffffffffU;

/// The rest of the input. Each function takes something off its front, or fails.
class Input {
 public:
  Input(const char* begin, const char* end) noexcept : at_(begin), end_(end) {}

  [[nodiscard]] const char* at() const noexcept { return at_; }

  /// Takes a key of legal length. The byte that ends it, if any, stays in the input.
  [[nodiscard]] bool take_key(std::string_view& key) noexcept {
    const char* const begin = at_;
    at_ = find_not_key(begin, end_);
    key = {begin, static_cast<std::size_t>(at_ - begin)};
    return key.size() - 1 < kMaxKeyBytes;
  }

  /// A number of 1 to 7 digits.
  [[nodiscard]] bool take_number(std::uint64_t& number) noexcept {
    const std::uint64_t word = this->word() ^ (kEachByte * '0');
    const std::size_t digits = first_marked(mark_above_nine(word) | std::uint64_t{1} << 63U);
    number = word_value(digits == 0 ? 0 : word << (64 - 8 * digits));
    at_ += digits;
    return digits - 1 < 7;
  }

  [[nodiscard]] bool take_space() noexcept {
    if (at_ == end_ || *at_ != ' ') {
      return false;
    }
    ++at_;
    return true;
  }

  [[nodiscard]] bool take_noreply() noexcept {
    if (word() != word_of(" noreply")) {
      return false;
    }
    at_ += 8;
    return true;
  }

  [[nodiscard]] bool take_line_end() noexcept {
    if (at_ != end_ && *at_ == '\r') {
      ++at_;
    }
    if (at_ == end_ || *at_ != '\n') {
      return false;
    }
    ++at_;
    return true;
  }

 private:
  /// The next 8 bytes, with zeros behind the end.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return end_ - at_ >= 8 ? load_word(at_) : load_short(at_, static_cast<std::size_t>(end_ - at_));
  }

  const char* at_;
  const char* end_;
};

/// Bytes consumed, unless the line is longer than it may be.
std::size_t consumed_within(const char* data, const Input& rest, std::size_t most) noexcept {
  const auto bytes = static_cast<std::size_t>(rest.at() - data);
  return bytes <= most ? bytes : 0;
}

std::size_t parse_keys(const char* data, Input rest, const ParserLimits& limits, Request& request) noexcept {
  const char* const begin = rest.at();
  std::string_view key;
  if (!rest.take_key(request.key)) {
    return 0;
  }
  std::uint32_t count = 1;
  for (; rest.take_space(); ++count) {
    if (!rest.take_key(key)) {
      return 0;
    }
  }
  request.noreply = false;
  request.keys = {begin, static_cast<std::size_t>(rest.at() - begin)};
  request.key_count = count;
  return rest.take_line_end() ? consumed_within(data, rest, limits.get_line_bytes) : 0;
}

/// Parses the end of a line: an optional "noreply", and the line's end.
std::size_t parse_line_rest(const char* data, Input rest, const ParserLimits& limits, verb op,
                            Request& request) noexcept {
  request.op = op;
  request.noreply = rest.take_noreply();
  return rest.take_line_end() ? consumed_within(data, rest, limits.line_bytes) : 0;
}

std::size_t parse_value(const char* data, Input rest, const ParserLimits& limits, verb op,
                        Request& request) noexcept {
  std::uint64_t flags = 0;
  std::uint64_t exptime = 0;
  if (!(rest.take_key(request.key) && rest.take_space() && rest.take_number(flags) && rest.take_space() &&
        rest.take_number(exptime) && rest.take_space() && rest.take_number(request.value_bytes)) ||
      request.value_bytes > limits.value_bytes) {
    return 0;
  }
  request.flags = static_cast<std::uint32_t>(flags);
  request.exptime = static_cast<std::int64_t>(exptime);
  return parse_line_rest(data, rest, limits, op, request);
}

/// A key, and a number where the command has one.
std::size_t parse_change(const char* data, Input rest, const ParserLimits& limits, verb op,
                         Request& request) noexcept {
  if (!rest.take_key(request.key)) {
    return 0;
  }
  if (op != verb::remove) {
    std::uint64_t number = 0;
    if (!(rest.take_space() && rest.take_number(number))) {
      return 0;
    }
    if (op == verb::touch) {
      request.exptime = static_cast<std::int64_t>(number);
    } else {
      request.delta = number;
    }
  }
  return parse_line_rest(data, rest, limits, op, request);
}

/// Whether the first word of a range is a key or prefix as it stands, not a sign or a cursor.
bool is_plain_start(std::string_view start, bool by_prefix) noexcept {
  const char first = start.front();
  return (by_prefix || (first != '[' && first != '(' && first != '-' && first != '+')) &&
         !start.starts_with("cursor=");
}

/// A start or prefix and a count, without further words.
std::size_t parse_count(const char* data, Input rest, const ParserLimits& limits, verb op,
                        Request& request) noexcept {
  std::string_view start;
  std::uint64_t count = 0;
  const bool by_prefix = op == verb::pscan || op == verb::pscans;
  if (!(rest.take_key(start) && is_plain_start(start, by_prefix) && rest.take_space() &&
        rest.take_number(count) && count > 0 && rest.take_line_end())) {
    return 0;
  }
  request.op = op;
  request.noreply = false;
  request.key = {};
  request.range = {};
  request.range.limit = count;
  request.range.by_prefix = by_prefix;
  request.range.with_cas = op == verb::scans || op == verb::pscans;
  if (by_prefix) {
    request.range.prefix = start;
  } else {
    request.range.low = {start, false, true};
  }
  return consumed_within(data, rest, limits.line_bytes);
}

}  // namespace

std::size_t parse_fast_line(const char* data, std::size_t size, const ParserLimits& limits,
                            Request& request) noexcept {
  if (size < 8) {
    return 0;  // so short a line is not worth the short way
  }
  const std::uint64_t start = load_word(data);
  const char* const end = data + size;
  if ((start & kFourBytes) == word_of("get ")) [[likely]] {
    request.op = verb::get;
    return parse_keys(data, {data + 4, end}, limits, request);
  }
  const std::uint64_t spaces = mark_equal(start, ' ');
  if (spaces == 0) {
    return 0;
  }
  const std::size_t before = first_marked(spaces);
  const Input rest{data + before + 1, end};
  // Compare the space, too: zeros behind a word would look like a word that ends in NUL bytes.
  switch (start & (~std::uint64_t{0} >> (56 - 8 * before))) {
    case word_of("gets "):
      request.op = verb::gets;
      return parse_keys(data, rest, limits, request);
    case word_of("set "):
      return parse_value(data, rest, limits, verb::set, request);
    case word_of("add "):
      return parse_value(data, rest, limits, verb::add, request);
    case word_of("replace "):
      return parse_value(data, rest, limits, verb::replace, request);
    case word_of("append "):
      return parse_value(data, rest, limits, verb::append, request);
    case word_of("prepend "):
      return parse_value(data, rest, limits, verb::prepend, request);
    case word_of("incr "):
      return parse_change(data, rest, limits, verb::incr, request);
    case word_of("decr "):
      return parse_change(data, rest, limits, verb::decr, request);
    case word_of("touch "):
      return parse_change(data, rest, limits, verb::touch, request);
    case word_of("delete "):
      return parse_change(data, rest, limits, verb::remove, request);
    case word_of("scan "):
      return parse_count(data, rest, limits, verb::scan, request);
    case word_of("scans "):
      return parse_count(data, rest, limits, verb::scans, request);
    case word_of("pscan "):
      return parse_count(data, rest, limits, verb::pscan, request);
    case word_of("pscans "):
      return parse_count(data, rest, limits, verb::pscans, request);
    default:
      return 0;
  }
}

}  // namespace mxkv::protocol

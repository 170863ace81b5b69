#include "protocol/usual_lines.hpp"

#include <cstdint>
#include <limits>
#include <string_view>

#include "protocol/numbers.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::uint64_t kFourBytes = 0xffffffffU;
constexpr std::uint64_t kFiveBytes = 0xffffffffffU;

/// What is left of the input. Each function takes something off its front, or fails.
class Input {
 public:
  Input(const char* begin, const char* end) noexcept : at_(begin), end_(end) {}

  [[nodiscard]] const char* at() const noexcept { return at_; }

  /// A key of legal length. What ends it is still there, if there is anything.
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

std::size_t parse_set(const char* data, Input rest, const ParserLimits& limits, Request& request) noexcept {
  std::uint64_t flags = 0;
  std::uint64_t exptime = 0;
  if (!(rest.take_key(request.key) && rest.take_space() && rest.take_number(flags) && rest.take_space() &&
        rest.take_number(exptime) && rest.take_space() && rest.take_number(request.value_bytes))) {
    return 0;
  }
  request.op = verb::set;
  request.flags = static_cast<std::uint32_t>(flags);
  request.exptime = static_cast<std::int64_t>(exptime);
  request.noreply = rest.take_noreply();
  const bool good = rest.take_line_end() && request.value_bytes <= limits.value_bytes;
  return good ? consumed_within(data, rest, limits.line_bytes) : 0;
}

}  // namespace

std::size_t parse_usual_line(const char* data, std::size_t size, const ParserLimits& limits,
                             Request& request) noexcept {
  if (size < 8) {
    return 0;  // nothing is gained by haste
  }
  const char* const end = data + size;
  const std::uint64_t start = load_word(data);
  if ((start & kFourBytes) == word_of("get ")) {
    request.op = verb::get;
    return parse_keys(data, {data + 4, end}, limits, request);
  }
  if ((start & kFourBytes) == word_of("set ")) {
    return parse_set(data, {data + 4, end}, limits, request);
  }
  if ((start & kFiveBytes) == word_of("gets ")) {
    request.op = verb::gets;
    return parse_keys(data, {data + 5, end}, limits, request);
  }
  return 0;
}

}  // namespace mxkv::protocol

// The pieces of redis's protocol (RESP2): bulk strings, and lines of a type and a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {

inline constexpr std::size_t kMaxRespText = 256;  ///< all of a request but keys, fields and values

/// A bulk string "$<bytes>\r\n<data>\r\n" at the front of the input.
struct Bulk {
  Outcome outcome = Outcome::incomplete;  // ok, or why not
  std::string_view data;
  std::size_t bytes = 0;  // of the whole
};

/// A line "<type><number>\r\n".
struct NumberLine {
  Outcome outcome = Outcome::incomplete;
  std::uint64_t number = 0;
  std::size_t bytes = 0;
};

/// A line of another type: the server's error, or nonsense.
inline NumberLine other_line(std::string_view line, std::size_t bytes) noexcept {
  return {line.starts_with('-') ? Outcome::error : Outcome::out_of_step, 0, bytes};
}

inline NumberLine read_number_line(std::string_view input, char type) noexcept {
  const auto line = first_line(input);
  if (!line) {
    return {};
  }
  const std::size_t bytes = line->size() + kLineEnd.size();
  if (!line->starts_with(type)) {
    return other_line(*line, bytes);
  }
  if (line->substr(1) == "-1") {
    return {Outcome::not_found, 0, bytes};
  }
  const auto number = parse_number(line->substr(1));
  return {number ? Outcome::ok : Outcome::out_of_step, number.value_or(0), bytes};
}

inline Bulk read_bulk(std::string_view input) noexcept {
  const NumberLine head = read_number_line(input, '$');
  if (head.outcome != Outcome::ok) {
    return {head.outcome, {}, head.bytes};
  }
  const std::size_t whole = head.bytes + head.number + kLineEnd.size();
  if (input.size() < whole) {
    return {};
  }
  if (input.substr(whole - kLineEnd.size(), kLineEnd.size()) != kLineEnd) {
    return {Outcome::out_of_step, {}, 0};
  }
  return {Outcome::ok, input.substr(head.bytes, head.number), whole};
}

/// Writes "$<bytes>\r\n"; the data and a line end follow.
inline char* put_bulk_head(char* at, std::size_t bytes) noexcept {
  *at++ = '$';
  return put(put_number(at, bytes), kLineEnd);
}

inline char* put_bulk(char* at, std::string_view data) noexcept {
  return put(put(put_bulk_head(at, data.size()), data), kLineEnd);
}

/// Writes "*<parts>\r\n$<bytes>\r\n<command>\r\n".
inline char* put_command(char* at, std::size_t parts, std::string_view command) noexcept {
  *at++ = '*';
  return put_bulk(put(put_number(at, parts), kLineEnd), command);
}

/// The head of a scan's reply, "*<how many>\r\n": begins the check, and announces the records.
inline Step read_scan_head(const Operation& scan, std::string_view input, const LoadedKeys& loaded,
                           ReplyState& state) {
  const NumberLine head = read_number_line(input, '*');
  if (head.outcome != Outcome::ok) {
    return {head.bytes, head.outcome};
  }
  state.scan.begin(loaded, scan);
  state.announced = head.number;
  return {head.bytes, Outcome::incomplete};
}

/// Whether a step within a scan's reply was its last.
inline bool ends_scan(const Step& step, const ReplyState& state) noexcept {
  return step.outcome == Outcome::incomplete && step.consumed > 0 && state.announced == 0;
}

}  // namespace mxkv::bench

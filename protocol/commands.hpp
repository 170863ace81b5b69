// Inside the parser: the line being parsed, and what the functions of all families share. Not for users of the parser.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/grammars.hpp"
#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "protocol/tokens.hpp"

namespace mxkv::protocol {

/// The argument of a family's function. `tokens` stands behind the verb; `request.op` is set.
struct CommandLine {
  Tokens& tokens;
  Request& request;
  const ParserLimits& limits;
};

[[nodiscard]] inline Parsed accepted() noexcept {
  Parsed parsed;
  parsed.what = outcome::request;
  return parsed;
}

[[nodiscard]] inline Parsed refused(std::string_view error, std::uint64_t swallow = 0) noexcept {
  Parsed parsed;
  parsed.what = outcome::error;
  parsed.swallow = swallow;
  parsed.error = error;
  return parsed;
}

/// Refuses a command with a data block whose length cannot be read.
[[nodiscard]] inline Parsed refused_length(std::string_view error) noexcept {
  Parsed parsed = refused(error);
  parsed.length_unknown = true;
  return parsed;
}

/// Longer lengths count as unparsable, as in memcached, so that the server need not swallow so long a block.
inline constexpr std::uint64_t kLongestValue = 0x7FFF'FFFF - kCrLf.size();

inline constexpr std::string_view kNoreply = "noreply";

/// Refuses a command that knows noreply. It is refused without an answer if noreply is the line's last word
/// (rule 23), unless that word stands in the place of the key. `key` of a command without a key points
/// outside the line.
[[nodiscard]] inline Parsed refused_aloud_or_not(const Tokens& tokens, std::string_view key,
                                                 std::string_view error, std::uint64_t swallow = 0) noexcept {
  const std::string_view last = tokens.last();
  const bool silent = last == kNoreply && last.data() != key.data();
  return refused(silent ? std::string_view() : error, swallow);
}

/// Takes an optional noreply from the end; false if anything else is left.
[[nodiscard]] inline bool take_noreply(Tokens& tokens, Request& request) noexcept {
  if (tokens.done()) {
    return true;
  }
  request.noreply = tokens.next().text == kNoreply;
  return request.noreply && tokens.done();
}

/// The same for commands without keys: a single word that is not noreply is ignored. Two words are an error,
/// which is answered.
[[nodiscard]] inline bool take_last_word(Tokens& tokens, Request& request) noexcept {
  request.noreply = !tokens.done() && tokens.next().text == kNoreply;
  return tokens.done();
}

}  // namespace mxkv::protocol

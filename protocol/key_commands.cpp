// The commands on one key without a data block, and those without a key: incr decr touch delete,
// version flush_all quit (rules 25-28). The key is checked first, then the number, then the rest of the line.
#include "protocol/commands.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

/// `<key> <number> [noreply]`: everything but the number's own check.
bool take_key_and_word(CommandLine line, Token& key, Token& word) noexcept {
  key = line.tokens.next();
  word = line.tokens.next();
  line.request.key = key.text;
  return key.is_key() && !word.empty() && take_noreply(line.tokens, line.request);
}

}  // namespace

Parsed parse_arithmetic(CommandLine line) noexcept {
  Token key;
  Token delta;
  if (!take_key_and_word(line, key, delta)) {
    return refused_aloud_or_not(line.tokens, key.text, kBadFormat);
  }
  if (!read_u64(delta.text, line.request.delta)) {
    return refused_aloud_or_not(line.tokens, key.text, kBadDelta);
  }
  return accepted();
}

Parsed parse_touch(CommandLine line) noexcept {
  Token key;
  Token exptime;
  if (!take_key_and_word(line, key, exptime)) {
    return refused_aloud_or_not(line.tokens, key.text, kBadFormat);
  }
  if (!read_i64(exptime.text, line.request.exptime)) {
    return refused_aloud_or_not(line.tokens, key.text, kBadExptime);
  }
  return accepted();
}

Parsed parse_delete(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  const Token key = tokens.next();
  line.request.key = key.text;
  if (!key.is_key()) {
    return refused_aloud_or_not(tokens, key.text, kBadFormat);
  }
  // Very old clients send a time here. Only 0 was ever legal.
  if (tokens.rest().starts_with('0') && tokens.next().text != "0") {
    return refused_aloud_or_not(tokens, key.text, kBadDelete);
  }
  if (!take_noreply(tokens, line.request)) {
    return refused_aloud_or_not(tokens, key.text, kBadDelete);
  }
  return accepted();
}

Parsed parse_flush_all(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  line.request.exptime = 0;
  if (tokens.done()) {
    return accepted();
  }
  const Token delay = tokens.next();
  if (delay.text == kNoreply && tokens.done()) {
    line.request.noreply = true;
    return accepted();
  }
  if (!read_i64(delay.text, line.request.exptime)) {
    return refused_aloud_or_not(tokens, {}, kBadExptime);
  }
  return take_last_word(tokens, line.request) ? accepted() : refused(kError);
}

// As memcached since 1.6 does; libmemcached's memccapable insists.
Parsed parse_bare(CommandLine /*line*/) noexcept {
  return accepted();
}

}  // namespace mxkv::protocol

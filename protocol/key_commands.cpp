// The commands on one key without a data block, and those without a key: incr decr touch delete,
// version flush_all quit (rules 25-28). The key is checked first, then the number, then the rest of the line.
#include "protocol/commands.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
/// `<key> [<operand>] [noreply]`: everything but the operand's own check comes first.
Parsed parse_change(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  Request& request = line.request;
  const operand wanted = operand_of(command_of(request.op).terms);
  const Token key = tokens.next();
  const Token number = wanted == operand::none ? Token{} : tokens.next();
  request.key = key.text;
  const bool whole = key.is_key() && (wanted == operand::none || !number.empty());
  if (!whole || !take_noreply(tokens, request)) {
    return refused_aloud_or_not(tokens, key.text, kBadFormat);
  }
  switch (wanted) {
    case operand::none:
      break;
    case operand::delta:
      if (!read_u64(number.text, request.delta)) {
        return refused_aloud_or_not(tokens, key.text, kBadDelta);
      }
      break;
    case operand::exptime:
      if (!read_i64(number.text, request.exptime)) {
        return refused_aloud_or_not(tokens, key.text, kBadExptime);
      }
      break;
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

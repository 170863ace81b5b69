// get gets gat gats (rule 24). Every key is checked before the first is looked up: a bad key anywhere is one
// error in place of the reply. noreply has no meaning here, but is a key.
#include "protocol/commands.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {

Parsed parse_retrieval(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  Request& request = line.request;
  request.keys = tokens.rest();
  Token key = tokens.next();
  request.key = key.text;
  std::uint32_t count = 1;
  for (;; ++count) {
    if (!key.is_key()) {
      return refused(kBadFormat);
    }
    if (tokens.done()) {
      break;
    }
    key = tokens.next();
  }
  request.key_count = count;
  return accepted();
}

Parsed parse_get_and_touch(CommandLine line) noexcept {
  const Token exptime = line.tokens.next();
  if (line.tokens.done()) {
    return refused(kBadFormat);
  }
  if (!read_i64(exptime.text, line.request.exptime)) {
    return refused(kBadExptime);
  }
  return parse_retrieval(line);
}

}  // namespace mxkv::protocol

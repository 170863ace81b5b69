// set add replace append prepend cas (rules 15-23): <key> <flags> <exptime> <bytes> [<cas>] [noreply].
//
// The length is read before anything else is checked. Once it is known, every error swallows the data block,
// so that the stream stays in step. Without a length, nothing can be swallowed.
#include "protocol/commands.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {

Parsed parse_storage(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  Request& request = line.request;
  const Token key = tokens.next();
  const Token flags = tokens.next();
  const Token exptime = tokens.next();
  const Token length = tokens.next();
  if (!read_u64(length.text, request.value_bytes) || request.value_bytes > kLongestValue) {
    return refused_length(refused_aloud_or_not(tokens, key.text, kBadFormat).error);
  }
  const std::uint64_t block = request.value_bytes + kCrLf.size();
  bool good = key.is_key() && read_u32(flags.text, request.flags) && read_i64(exptime.text, request.exptime);
  if (command_of(request.op).terms.compares) {
    good = read_u64(tokens.next().text, request.cas) && good;
  }
  if (!take_noreply(tokens, request) || !good) {
    return refused_aloud_or_not(tokens, key.text, kBadFormat, block);
  }
  request.key = key.text;
  if (request.value_bytes > line.limits.value_bytes) {
    Parsed parsed = refused(request.noreply ? std::string_view() : kTooLarge, block);
    parsed.too_large = true;
    parsed.delete_key = request.op == verb::set;
    return parsed;
  }
  return accepted();
}

}  // namespace mxkv::protocol

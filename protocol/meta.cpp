// mg ms md ma me: a key, for ms a length, then flags of one letter, some with a token behind the letter
// (rules 31-33). As memcached does it, every flag is legal in every command, a duplicate or unknown one ends
// the parsing, and of several bad tokens the last one is reported.
//
// The flag b means that the key is in base64, so that its word may be longer. So the line is searched for b
// before the key is read.

#include "protocol/commands.hpp"
#include "protocol/key_reader.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

/// Reads the flags of a line into `flags`, one at a time.
class FlagReader {
 public:
  explicit FlagReader(MetaFlags& flags) noexcept : flags_(flags) {}

  /// Returns false if the parsing ends at this flag.
  [[nodiscard]] bool take(std::string_view token) noexcept {
    bool& seen = seen_[static_cast<unsigned char>(token.front())];
    if (seen) {
      error_ = kDuplicateFlag;
      return false;
    }
    seen = true;
    return take_known(token.front(), token.substr(1));
  }
  [[nodiscard]] std::string_view error() const noexcept { return error_; }
  [[nodiscard]] bool long_opaque() const noexcept { return long_opaque_; }

 private:
  [[nodiscard]] bool take_known(char letter, std::string_view rest) noexcept {
    switch (letter) {
      case 'b':
        flags_.binary_key = true;
        return true;
      case 'c':
      case 'f':
      case 'h':
      case 'k':
      case 'l':
      case 's':
      case 't':
        flags_.want(letter);
        return true;
      case 'O':
        long_opaque_ = !flags_.take_opaque(rest);
        return true;
      case 'F':  // the caller reads it
      case 'L':
      case 'P':
        return true;
      case 'I':
        flags_.invalidate = true;
        return true;
      case 'M':
        flags_.mode = rest.empty() ? ' ' : rest.front();
        return true;
      case 'q':
        flags_.quiet = true;
        return true;
      case 'u':
        flags_.no_bump = true;
        return true;
      case 'v':
        flags_.value = true;
        return true;
      case 'x':
        flags_.remove_value = true;
        return true;
      default:
        return take_number(letter, rest);
    }
  }

  [[nodiscard]] bool take_number(char letter, std::string_view rest) noexcept {
    switch (letter) {
      case 'T':
        flags_.want(letter);
        flags_.has_exptime = take_time(rest, flags_.exptime);
        return true;
      case 'N':
        flags_.want(letter);
        flags_.vivify = take_time(rest, flags_.vivify_exptime);
        return true;
      case 'R':
        flags_.want(letter);
        flags_.has_recache = take_time(rest, flags_.recache);
        return true;
      case 'C':
        flags_.has_compare = take(rest, flags_.compare, kBadToken);
        return true;
      case 'E':
        (void)take(rest, flags_.cas, kBadToken);
        return true;
      case 'J':
        (void)take(rest, flags_.initial, kBadInitial);
        return true;
      case 'D':
        (void)take(rest, flags_.delta, kBadMetaDelta);
        return true;
      default:
        error_ = kInvalidFlag;
        return false;
    }
  }

  bool take(std::string_view text, std::uint64_t& number, std::string_view error) noexcept {
    if (!read_u64(text, number)) {
      error_ = error;
      return false;
    }
    return true;
  }
  bool take_time(std::string_view text, std::int64_t& seconds) noexcept {
    if (!read_i64(text, seconds)) {
      error_ = kBadToken;
      return false;
    }
    return true;
  }

  MetaFlags& flags_;
  std::array<bool, 256> seen_{};
  std::string_view error_;
  bool long_opaque_ = false;
};

/// The key of a line, and the number of its flags, both known before the flags are read.
class LineKey {
 public:
  /// `behind`: the words behind the key, and behind the length of ms.
  LineKey(const Token& word, Tokens behind, Request& request) noexcept {
    bool binary = false;
    for (; !behind.done(); ++flags_) {
      binary |= behind.next().text.front() == 'b';
    }
    KeyReader keys(binary, request.scratch.data());
    request.key = keys.read(word.text, word.clean);
    error_ = keys.error();
  }

  /// Whether the key is too long, or text that is no key. This error takes precedence over errors of the
  /// flags.
  [[nodiscard]] bool malformed() const noexcept { return error_ == kBadFormat; }
  /// The error of the key, or none.
  [[nodiscard]] std::string_view error() const noexcept { return error_; }
  [[nodiscard]] std::size_t flags() const noexcept { return flags_; }

 private:
  std::size_t flags_ = 0;
  std::string_view error_;
};

/// Reads the remaining flags. Returns their error, or the error of the key, or nothing. `tokens_before` were
/// taken. A long opaque is reported apart: memcached finds it when it writes the answer, so all other errors
/// come first.
std::string_view read_flags(CommandLine line, const LineKey& key, std::size_t tokens_before,
                            bool& long_opaque) noexcept {
  Request& request = line.request;
  request.meta = {};
  request.flags = 0;
  FlagReader reader{request.meta};
  std::string_view bad_client_flags;
  // The count comes first, as in memcached: a line of too many flags is not looked at.
  if (tokens_before + key.flags() > MetaFlags::kMostTokens) {
    return kTooManyFlags;
  }
  while (!line.tokens.done()) {
    const std::string_view token = line.tokens.next().text;
    if (token.front() == 'F') {
      // The reader takes F, too, to find duplicates.
      if (!read_u32(token.substr(1), request.flags)) {
        bad_client_flags = kBadFormat;
      }
    }
    if (!reader.take(token)) {
      return reader.error();
    }
  }
  if (!reader.error().empty()) {
    return reader.error();
  }
  if (!key.error().empty()) {
    return key.error();
  }
  long_opaque = reader.long_opaque();
  return bad_client_flags;
}

}  // namespace

Parsed parse_meta(CommandLine line) noexcept {
  const Token word = line.tokens.next();
  if (word.empty()) {
    return refused(line.request.op != verb::meta_debug ? kError : kBadFormat);
  }
  const LineKey key(word, line.tokens, line.request);
  if (key.malformed()) {
    return refused(kBadFormat);
  }
  bool long_opaque = false;
  const std::string_view error = read_flags(line, key, 2, long_opaque);
  if (!error.empty()) {
    // memcached has one error for all flaws of ma and me. Here me reports a key that is not base64.
    return refused(line.request.op == verb::meta_arithmetic                       ? kBadMetaArithmetic
                   : line.request.op == verb::meta_debug && error != kBadEncoding ? kBadFormat
                                                                                  : error);
  }
  const char mode = line.request.meta.mode;
  if (line.request.op == verb::meta_arithmetic && mode != 0) {
    constexpr std::string_view kModes = "I+D-";
    const std::size_t which = kModes.find(mode);
    if (which == std::string_view::npos) {
      return refused(kBadMetaArithmeticMode);
    }
    line.request.meta.mode = which < 2 ? 'I' : 'D';
  }
  return long_opaque ? refused(kLongOpaque) : accepted();
}

Parsed parse_meta_set(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  Request& request = line.request;
  const Token word = tokens.next();
  if (word.empty()) {
    return refused_length(kError);
  }
  const Token length = tokens.next();
  if (!read_u64(length.text, request.value_bytes) || request.value_bytes > kLongestValue) {
    return refused_length(kBadFormat);
  }
  const std::uint64_t block = request.value_bytes + kCrLf.size();
  const LineKey key(word, tokens, request);
  if (key.malformed()) {
    return refused(kBadFormat, block);
  }
  bool long_opaque = false;
  const std::string_view error = read_flags(line, key, 3, long_opaque);
  if (!error.empty()) {
    return refused(error, block);
  }
  request.exptime = request.meta.exptime;
  if (request.meta.mode != 0) {
    if (std::string_view("EAPRS").find(request.meta.mode) == std::string_view::npos) {
      return refused(kBadMetaSetMode, block);
    }
  }
  if (long_opaque) {
    return refused(kLongOpaque, block);
  }
  if (request.value_bytes > line.limits.value_bytes) {
    Parsed parsed = refused(kTooLarge, block);
    parsed.too_large = parsed.delete_key = true;
    return parsed;
  }
  return accepted();
}

Parsed parse_meta_batch(CommandLine line) noexcept {
  std::uint32_t lines = 0;
  if (!read_u32(line.tokens.next().text, lines) || !line.tokens.done()) {
    Parsed parsed = refused(kBadFormat);
    parsed.closes = true;
    return parsed;
  }
  line.request.batch_lines = lines;
  return accepted();
}

}  // namespace mxkv::protocol

// mr mc mx mt mw: where to start, then flags of one letter, some with a token behind the letter. mu: flags alone.
//
//   all   p  H(key)  i  o  b  A(n)  O(opaque)  q  P  L
//   mr    r  G(cursor)  U(us)  X  B(n)  v f c t s l h k u
//   mc    r  G(cursor)  U(us)  X  e  M(s|n|x)  D(delimiter)  k
//   mx    r, only to say that it goes forward  G(cursor)  U(us)  X
//   mt    T(exptime)
//   mw    p  H(key)  i  o  b  O(name)  G(position)  S  M(pdext)  v f c t s, and no other flag of all
//   mu    O(name)  m(opaque), and no flag of all
//
// With G the cursor gives start, p, H, i, o and r. So a client asks for the next page by the same line with G
// behind it. Reads ignore these flags of the line. mx refuses a cursor that leads out of the range that its
// line names.
//
// X asks for one point in time: each page of mr, and a count, shows one. mx with X, and mt always, changes
// the whole range or nothing. So they have no pages, no flag that ends a page goes with X, and A(n) is the
// most keys that the range may have.
#include "protocol/commands.hpp"
#include "protocol/cursor.hpp"
#include "protocol/key_reader.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kFlagsOfAll = "pHiobAOqPL";
constexpr std::string_view kKinds = "pdext";  // of mw, in the order of the bits of Request::watched

std::string_view flags_of(verb op) noexcept {
  switch (op) {
    case verb::meta_watch:
      return "pHiobOGSMvfcts";
    case verb::meta_unwatch:
      return "Om";
    case verb::meta_range:
      return "rGUXBvfctslhku";
    case verb::meta_count:
      return "rGUXeMDk";
    case verb::meta_range_delete:
      return "rGUX";
    default:
      return "T";  // mt
  }
}

/// Reads the flags of one line.
class RangeFlags {
 public:
  explicit RangeFlags(Request& request) noexcept
      : request_(request),
        range_(request.range),
        meta_(request.meta),
        watches_(command_of(request.op).belongs == family::watching),
        own_(flags_of(request.op)) {}

  /// Takes a flag. Returns its error, or nothing.
  [[nodiscard]] std::string_view take(const Token& token) noexcept {
    const char letter = token.text.front();
    const std::string_view rest = token.text.substr(1);
    if ((watches_ || kFlagsOfAll.find(letter) == std::string_view::npos) &&
        own_.find(letter) == std::string_view::npos) {
      return kInvalidFlag;
    }
    bool& seen = seen_[static_cast<unsigned char>(letter)];
    if (seen) {
      return kDuplicateFlag;
    }
    seen = true;
    switch (letter) {
      case 'H':
        far_ = {rest, token.clean};
        return {};
      case 'G':
        cursor_ = rest;
        return {};
      case 'A':
        return number(rest, range_.limit);
      case 'B':
        return number(rest, range_.byte_limit);
      case 'U':
        return number(rest, range_.time_limit_us);
      case 'O':
        return meta_.take_opaque(rest) ? std::string_view{} : kLongOpaque;
      case 'M':
        return watches_ ? kinds(rest) : modes(rest);
      case 'm':
        request_.argument = rest;
        return !rest.empty() && rest.size() < MetaFlags::kMostOpaqueBytes ? std::string_view{} : kBadToken;
      case 'D':
        range_.delimiter = rest;
        return !rest.empty() && rest.size() <= kMaxDelimiterBytes ? std::string_view{} : kBadToken;
      case 'T':
        return read_i64(rest, request_.exptime) ? std::string_view{} : kBadToken;
      case 'f':
      case 'c':
      case 't':
      case 's':
      case 'l':
      case 'h':
        meta_.want(letter);
        return {};
      default:
        return {};  // seen_ has it
    }
  }

  [[nodiscard]] bool has(char letter) const noexcept { return seen_[static_cast<unsigned char>(letter)]; }
  [[nodiscard]] const Token& far() const noexcept { return far_; }
  [[nodiscard]] std::string_view cursor() const noexcept { return cursor_; }

 private:
  std::string_view kinds(std::string_view text) noexcept {
    request_.watched = 0;
    for (const char letter : text) {
      const std::size_t at = kKinds.find(letter);
      if (at == std::string_view::npos || (request_.watched >> at & 1U) != 0) {
        return kBadToken;
      }
      request_.watched |= 1U << at;
    }
    return text.empty() ? kBadToken : std::string_view{};
  }
  static std::string_view number(std::string_view text, std::uint64_t& value) noexcept {
    return read_u64(text, value) && value > 0 ? std::string_view{} : kBadToken;
  }
  std::string_view modes(std::string_view text) noexcept {
    for (const char letter : text) {
      bool* const mode = letter == 's'   ? &range_.numeric.sum
                         : letter == 'n' ? &range_.numeric.least
                         : letter == 'x' ? &range_.numeric.greatest
                                         : nullptr;
      if (mode == nullptr || *mode) {
        return kBadToken;
      }
      *mode = true;
    }
    return text.empty() ? kBadToken : std::string_view{};
  }

  Request& request_;
  RangeRequest& range_;
  MetaFlags& meta_;
  bool watches_;
  std::string_view own_;
  std::array<bool, 256> seen_{};
  Token far_;
  std::string_view cursor_;
};

/// Reads the range of a line without a cursor. Returns its error, or nothing.
std::string_view read_range(const Token& start, const RangeFlags& flags, RangeRequest& range,
                            char* scratch) noexcept {
  range.reverse = flags.has('r');
  range.by_prefix = flags.has('p');
  KeyReader keys(range.base64, scratch);
  if (range.by_prefix) {
    if (flags.has('H') || flags.has('i') || flags.has('o')) {
      return kPrefixHasNoBound;
    }
    range.prefix = keys.read(start.text, start.clean);
    return keys.error();
  }
  RangeBound near;
  RangeBound far;
  if (start.text != "-" || range.base64) {
    near = {keys.read(start.text, start.clean), false, !flags.has('o')};
  }
  if (flags.has('H')) {
    far = {keys.read(flags.far().text, flags.far().clean), false, flags.has('i')};
  }
  range.low = range.reverse ? far : near;
  range.high = range.reverse ? near : far;
  return keys.error();
}

/// Takes the range that a cursor resumes. Returns its error, or nothing. Reads follow the cursor wherever it
/// leads. A delete stays in the range that its line names, even if the cursor is from a page of another
/// range.
std::string_view resume(const Token& start, const RangeFlags& flags, Request& request) noexcept {
  RangeRequest named = request.range;
  if (!read_cursor(flags.cursor(), request.range, request.scratch.data())) {
    return kBadCursor;
  }
  if (request.op != verb::meta_range_delete) {
    return {};
  }
  std::array<char, 2 * kBoundScratch> scratch;
  if (const std::string_view error = read_range(start, flags, named, scratch.data()); !error.empty()) {
    return error;
  }
  return request.range.reverse || lies_within(request.range, named) ? std::string_view{} : kForeignCursor;
}

/// Prefixes come in pages, a count is one answer.
Parsed check_count(const RangeFlags& flags, RangeRequest& range) noexcept {
  if (flags.has('D') ? flags.has('M') : flags.has('A') || flags.has('U') || flags.has('k')) {
    return refused(kBadCountFlags);
  }
  if (range.locked && flags.has('D')) {
    return refused(kLockedCount);
  }
  if (range.reverse && flags.has('G')) {
    return refused(kBadCursor);
  }
  range.names_only = flags.has('k');
  range.exact = flags.has('e') || range.locked;
  range.reverse = false;  // a count has no direction once its bounds are low to high
  return accepted();
}

Parsed check_delete(const RangeFlags& flags, const RangeRequest& range) noexcept {
  if (range.reverse) {
    return refused(kNotBackward);
  }
  return range.locked && (flags.has('G') || flags.has('U')) ? refused(kLockedDelete) : accepted();
}

/// Takes all flags of the line. Returns its error, or nothing.
std::string_view take_flags(Tokens& tokens, std::size_t before, RangeFlags& flags) noexcept {
  for (std::size_t count = before; !tokens.done(); ++count) {
    if (count == MetaFlags::kMostTokens) {
      return kTooManyFlags;
    }
    if (const std::string_view error = flags.take(tokens.next()); !error.empty()) {
      return error;
    }
  }
  return {};
}

}  // namespace

Parsed parse_meta_watch(CommandLine line) noexcept {
  Request& request = line.request;
  request.range = {};
  request.meta = {};
  request.setting = {};
  request.watched = 0;
  const Token start = line.tokens.next();
  if (start.empty()) {
    return refused(kBadFormat);
  }
  RangeFlags flags(request);
  if (const std::string_view error = take_flags(line.tokens, 2, flags); !error.empty()) {
    return refused(error);
  }
  if (request.meta.opaque().empty()) {
    return refused(kWatchNeedsName);
  }
  if (flags.has('S')) {
    return refused(kNoWatchState);
  }
  if (flags.has('G') && flags.cursor().empty()) {
    return refused(kBadPosition);
  }
  request.setting = flags.cursor();
  request.range.base64 = flags.has('b');
  request.meta.value = flags.has('v');
  const std::string_view error = read_range(start, flags, request.range, request.scratch.data());
  return error.empty() ? accepted() : refused(error);
}

Parsed parse_meta_unwatch(CommandLine line) noexcept {
  Request& request = line.request;
  request.meta = {};
  request.argument = {};
  RangeFlags flags(request);
  if (const std::string_view error = take_flags(line.tokens, 1, flags); !error.empty()) {
    return refused(error);
  }
  return request.meta.opaque().empty() ? refused(kUnwatchNeedsName) : accepted();
}

Parsed parse_meta_range(CommandLine line) noexcept {
  Request& request = line.request;
  RangeRequest& range = request.range;
  range = {};
  range.limit = ~std::uint64_t{0};
  range.want_cursor = true;
  request.meta = {};
  const Token start = line.tokens.next();
  if (start.empty()) {
    return refused(kBadFormat);
  }
  RangeFlags flags(request);
  if (const std::string_view error = take_flags(line.tokens, 2, flags); !error.empty()) {
    return refused(error);
  }
  range.base64 = flags.has('b');
  range.locked = flags.has('X') || request.op == verb::meta_range_touch;
  request.meta.value = flags.has('v');
  request.meta.quiet = flags.has('q');
  range.keys_only = !request.meta.value;
  const std::string_view error = flags.has('G') ? resume(start, flags, request)
                                                : read_range(start, flags, range, request.scratch.data());
  if (!error.empty()) {
    return refused(error);
  }
  switch (request.op) {
    case verb::meta_count:
      return check_count(flags, range);
    case verb::meta_range_delete:
      return check_delete(flags, range);
    case verb::meta_range_touch:
      return flags.has('T') ? accepted() : refused(kTouchNeedsTime);
    default:
      return accepted();
  }
}

}  // namespace mxkv::protocol

// scan scans pscan pscans:
//   scan <start> <count> [words]             scan <start> <end> <limit> [words]
//   pscan <prefix> <limit> [words]           (p)scan cursor=<c> <limit> [words]
// with the words bytes=<n> reverse keys cursor base64, each at most once, in any order.
//
// An <end> always begins with '[' or '(' or is '-' or '+', so any other second word is a count. Only the end
// of the line says whether bounds are base64, so bounds are kept as tokens till then.
#include "protocol/commands.hpp"
#include "protocol/cursor.hpp"
#include "protocol/key_reader.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kCursorWord = "cursor=";
constexpr std::string_view kBytesWord = "bytes=";

constexpr std::array<char, kMaxKeyBytes> kGreatestKey = [] {
  std::array<char, kMaxKeyBytes> key{};
  key.fill('\xff');
  return key;
}();

bool has_sign(std::string_view bound) noexcept {
  return bound.starts_with('[') || bound.starts_with('(') || bound == "-" || bound == "+";
}

/// A bound with or without a sign, but neither "-" nor "+".
RangeBound read_bound(KeyReader& keys, const Token& token) noexcept {
  RangeBound bound;
  bound.unbounded = false;
  bound.inclusive = !token.text.starts_with('(');
  bound.key = keys.read(token.text.substr(has_sign(token.text) ? 1 : 0), token.clean);
  return bound;
}

/// The words behind the limit.
bool take_words(Tokens& tokens, RangeRequest& range) noexcept {
  const auto once = [](bool& flag) {
    const bool first = !flag;
    flag = true;
    return first;
  };
  bool byte_limit = false;
  while (!tokens.done()) {
    const std::string_view word = tokens.next().text;
    bool good = false;
    if (word == "reverse") {
      good = once(range.reverse);
    } else if (word == "keys") {
      good = once(range.keys_only);
    } else if (word == "cursor") {
      good = once(range.want_cursor);
    } else if (word == "base64") {
      good = once(range.base64);
    } else if (word.starts_with(kBytesWord)) {
      good = once(byte_limit) && read_u64(word.substr(kBytesWord.size()), range.byte_limit) &&
             range.byte_limit > 0;
    }
    if (!good) {
      return false;
    }
  }
  return true;
}

/// A page that begins where another ended. The cursor has the direction; the line may repeat it.
Parsed resume(Request& request, std::string_view cursor) noexcept {
  RangeRequest& range = request.range;
  const bool prefix_wanted = range.by_prefix;
  const bool reverse_wanted = range.reverse;
  if (!read_cursor(cursor, range, request.scratch.data()) || range.by_prefix != prefix_wanted ||
      (reverse_wanted && !range.reverse)) {
    return refused(kBadCursor);
  }
  return accepted();
}

/// Makes an empty range, for one from "+" or up to "-": no key is above the greatest one.
void make_empty(RangeRequest& range) noexcept {
  range.low = {{kGreatestKey.data(), kGreatestKey.size()}, false, false};
  range.high = {};
}

}  // namespace

Parsed parse_range(CommandLine line) noexcept {
  Tokens& tokens = line.tokens;
  Request& request = line.request;
  RangeRequest& range = request.range;
  range = {};
  range.by_prefix = request.op == verb::pscan || request.op == verb::pscans;
  range.with_cas = request.op == verb::scans || request.op == verb::pscans;

  const Token start = tokens.next();
  const bool resumed = start.text.starts_with(kCursorWord);
  Token limit = tokens.next();
  Token end{"+"};
  if (!range.by_prefix && !resumed && has_sign(limit.text)) {
    end = limit;
    limit = tokens.next();
  }
  if (!read_u64(limit.text, range.limit)) {
    // A word in place of the limit, with a number behind it, is an end that lacks its sign.
    const bool ends_bare = !range.by_prefix && !resumed && read_u64(tokens.next().text, range.limit);
    return refused(ends_bare ? kBareEnd : kBadFormat);
  }
  if (range.limit == 0 || !take_words(tokens, range)) {
    return refused(kBadFormat);
  }
  if (resumed) {
    return resume(request, start.text.substr(kCursorWord.size()));
  }

  KeyReader keys(request);
  if (range.by_prefix) {
    range.prefix = keys.read(start.text, start.clean);
  } else {
    if (start.text != "-" && start.text != "+") {
      range.low = read_bound(keys, start);
    }
    if (end.text != "-" && end.text != "+") {
      range.high = read_bound(keys, end);
    }
    if (start.text == "+" || end.text == "-") {
      make_empty(range);
    }
  }
  return keys.error().empty() ? accepted() : refused(keys.error());
}

}  // namespace mxkv::protocol

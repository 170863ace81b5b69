#include "protocol/request_writer.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::protocol {
namespace {

void append_base64(std::string& out, std::string_view key) {
  const std::size_t before = out.size();
  out.resize(before + 4 * ((key.size() + 2) / 3));
  out.resize(static_cast<std::size_t>(write_base64(out.data() + before, key) - out.data()));
}

void append(std::string& out, std::string_view before, std::uint64_t value) {
  out += before;
  std::array<char, kMaxDigits> digits;
  out.append(digits.data(), static_cast<std::size_t>(write_number(digits.data(), value) - digits.data()));
}

void append_signed(std::string& out, std::string_view before, std::int64_t value) {
  out += before;
  if (value < 0) {
    append(out, "-", std::uint64_t{0} - static_cast<std::uint64_t>(value));
  } else {
    append(out, "", static_cast<std::uint64_t>(value));
  }
}

// Keeps the order of the flags that the reply repeats, because the reply repeats them in that order.
void append_flags(std::string& out, const PointRequest& request, const ValueTerms& value) {
  const MetaFlags& flags = *request.flags;
  for (const char letter : flags.wants()) {
    out += ' ';
    out += letter;
    switch (letter) {
      case 'O':
        out += flags.opaque();
        break;
      case 'T':
        append_signed(out, "", flags.exptime);
        break;
      case 'N':
        append_signed(out, "", flags.vivify_exptime);
        break;
      case 'R':
        append_signed(out, "", flags.recache);
        break;
      default:
        break;
    }
  }
  for (const auto& [given, text] : {std::pair{flags.binary_key, " b"}, std::pair{flags.quiet, " q"},
                                    std::pair{flags.value, " v"}, std::pair{flags.no_bump, " u"},
                                    std::pair{flags.invalidate, " I"}, std::pair{flags.remove_value, " x"}}) {
    if (given) {
      out += text;
    }
  }
  if (flags.mode != 0) {
    out += " M";
    out.append(flags.mode == ' ' ? 0 : 1, flags.mode);
  }
  if (flags.has_compare) {
    append(out, " C", flags.compare);
  }
  if (flags.cas != 0) {
    append(out, " E", flags.cas);
  }
  if (flags.delta != MetaFlags{}.delta) {
    append(out, " D", flags.delta);
  }
  if (flags.initial != 0) {
    append(out, " J", flags.initial);
  }
  if (value.flags != 0) {
    append(out, " F", value.flags);
  }
}

void write_meta_line(std::string& out, const PointRequest& request, const ValueTerms& value) {
  out += command_of(request.op).word;
  out += ' ';
  if (request.flags->binary_key) {
    append_base64(out, request.key);
  } else {
    out += request.key;
  }
  if (takes_value(request.op)) {
    append(out, " ", value.bytes);
  }
  append_flags(out, request, value);
  out += kCrLf;
}

[[nodiscard]] const RangeBound& near_of(const RangeRequest& range) noexcept {
  return range.reverse ? range.high : range.low;
}
[[nodiscard]] const RangeBound& far_of(const RangeRequest& range) noexcept {
  return range.reverse ? range.low : range.high;
}

void append_cursor(std::string& out, const RangeRequest& range) {
  std::array<char, kMaxCursorBytes> text;
  const CursorState state{.last_key = near_of(range).key,
                          .far = range.by_prefix ? RangeBound{} : far_of(range),
                          .prefix = range.prefix,
                          .by_prefix = range.by_prefix,
                          .reverse = range.reverse};
  out.append(text.data(), static_cast<std::size_t>(write_cursor(text.data(), state) - text.data()));
}

/// Whether the range begins behind a key. Such a range is written as a cursor, which can carry any key.
[[nodiscard]] bool goes_on(const RangeRequest& range) noexcept {
  return !near_of(range).unbounded && !near_of(range).inclusive;
}

void append_key(std::string& out, std::string_view key, bool base64) {
  if (base64) {
    append_base64(out, key);
  } else {
    out += key;
  }
}

void append_bound(std::string& out, const RangeBound& bound, std::string_view unbounded, bool base64) {
  out += ' ';
  if (bound.unbounded) {
    out += unbounded;
    return;
  }
  out += bound.inclusive ? '[' : '(';
  append_key(out, bound.key, base64);
}

void write_scan_line(std::string& out, const Request& request) {
  const RangeRequest& range = request.range;
  out += command_of(request.op).word;
  const bool resumed = goes_on(range);
  if (resumed) {
    out += " cursor=";
    append_cursor(out, range);
  } else if (range.by_prefix) {
    out += ' ';
    append_key(out, range.prefix, range.base64);
  } else {
    append_bound(out, range.low, "-", range.base64);
    append_bound(out, range.high, "+", range.base64);
  }
  append(out, " ", range.limit);
  if (range.byte_limit != 0) {
    append(out, " bytes=", range.byte_limit);
  }
  for (const auto& [given, text] :
       {std::pair{range.reverse && !resumed, " reverse"}, std::pair{range.keys_only, " keys"},
        std::pair{range.want_cursor, " cursor"}, std::pair{range.base64, " base64"}}) {
    if (given) {
      out += text;
    }
  }
  out += kCrLf;
}

/// Start and bounds of mr and its like, with all keys in base64. A missing start is written as the first
/// possible key in walking order.
void append_meta_bounds(std::string& out, const RangeRequest& range) {
  const RangeBound& near = near_of(range);
  const RangeBound& far = far_of(range);
  if (range.by_prefix) {
    append_base64(out, range.prefix);
    out += " p";
    if (goes_on(range)) {
      out += " G";
      append_cursor(out, range);
      return;
    }
  } else {
    if (near.unbounded) {
      append_base64(out, range.reverse ? std::string(kMaxKeyBytes, '\xff') : std::string(1, '\0'));
    } else {
      append_base64(out, near.key);
    }
    if (!near.unbounded && !near.inclusive) {
      out += " o";
    }
    if (!far.unbounded) {
      out += " H";
      append_base64(out, far.key);
      out += far.inclusive ? " i" : "";
    }
  }
  out += range.reverse ? " r" : "";
}

void append_count_flags(std::string& out, const RangeRequest& range) {
  out += range.exact && !range.locked ? " e" : "";
  if (range.numeric.any()) {
    out += " M";
    out += range.numeric.sum ? "s" : "";
    out += range.numeric.least ? "n" : "";
    out += range.numeric.greatest ? "x" : "";
  }
  if (!range.delimiter.empty()) {
    out += " D";
    out += range.delimiter;
  }
  out += range.names_only ? " k" : "";
}

void append_operand(std::string& out, const PointRequest& request) {
  switch (operand_of(command_of(request.op).terms)) {
    case operand::none:
      return;
    case operand::delta:
      append(out, " ", request.delta);
      return;
    case operand::exptime:
      append_signed(out, " ", request.exptime);
      return;
  }
}

void write_meta_range_line(std::string& out, const Request& request) {
  const RangeRequest& range = request.range;
  out += command_of(request.op).word;
  out += ' ';
  append_meta_bounds(out, range);
  out += " b";
  for (const char letter : request.meta.wants()) {
    out += ' ';
    out += letter;
    if (letter == 'O') {
      out += request.meta.opaque();
    }
  }
  out += request.meta.quiet ? " q" : "";
  out += request.op == verb::meta_range && request.meta.value ? " v" : "";
  if (range.limit != std::numeric_limits<std::uint64_t>::max()) {
    append(out, " A", range.limit);
  }
  if (range.byte_limit != 0 && request.op == verb::meta_range) {
    append(out, " B", range.byte_limit);
  }
  if (range.time_limit_us != 0) {
    append(out, " U", range.time_limit_us);
  }
  if (request.op == verb::meta_count) {
    append_count_flags(out, range);
  }
  if (request.op == verb::meta_range_touch) {
    append_signed(out, " T", request.exptime);
  } else if (range.locked) {
    out += " X";
  }
  out += kCrLf;
}

}  // namespace

void write_point_line(std::string& out, const PointRequest& request, const ValueTerms& value) {
  MXKV_ASSERT(!request.is_binary(), "what is written as text came as text");
  if (request.is_meta()) {
    write_meta_line(out, request, value);
    return;
  }
  const Command& command = command_of(request.op);
  out += command.word;
  if (command.belongs == family::retrieval && command.terms.touches) {
    append_signed(out, " ", request.exptime);
  }
  out += ' ';
  out += request.key;
  if (command.belongs == family::storage) {
    append(out, " ", value.flags);
    append_signed(out, " ", value.exptime);
    append(out, " ", value.bytes);
    if (command.terms.compares) {
      append(out, " ", request.compare);
    }
  } else if (command.belongs == family::change) {
    append_operand(out, request);
  }
  out += kCrLf;
}

void write_range_line(std::string& out, const Request& request) {
  MXKV_ASSERT(is_range(request.op), "only a range is written so");
  if (is_meta_range(request.op)) {
    write_meta_range_line(out, request);
  } else {
    write_scan_line(out, request);
  }
}

}  // namespace mxkv::protocol

// A parsed command, classic, meta or binary. Plain data. The views point into the caller's buffer, or for
// decoded cursors and base64 bounds into the request's own scratch, and are valid until either changes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/command_table.hpp"
#include "protocol/meta.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {

/// Longest key, in bytes.
inline constexpr std::size_t kMaxKeyBytes = 250;

/// Longest delimiter of prefixes (mc).
inline constexpr std::size_t kMaxDelimiterBytes = 16;

[[nodiscard]] constexpr bool is_one_of(verb op, std::same_as<verb> auto... which) noexcept {
  return ((op == which) || ...);
}

/// One end of a range.
struct RangeBound {
  std::string_view key;   ///< raw bytes; unused if unbounded
  bool unbounded = true;  ///< the minimum as a low bound, the maximum as a high one
  bool inclusive = true;
};

/// Figures of numeric values that mc reports besides their number.
struct NumericModes {
  bool sum = false;       ///< Ms
  bool least = false;     ///< Mn
  bool greatest = false;  ///< Mx
  [[nodiscard]] bool any() const noexcept { return sum || least || greatest; }
};

/// Arguments of scan, scans, pscan, pscans, mr, mc, mx, mt. Bounds are low to high in either direction. A
/// prefix stays a prefix here: the range is all keys that begin with it, cut by `low` and `high` on a resumed
/// page.
struct RangeRequest {
  RangeBound low;
  RangeBound high;
  std::string_view prefix;  ///< pscan, p: may be empty only there
  bool by_prefix = false;
  std::uint64_t limit = 0;          ///< records wanted, before the server's ceiling
  std::uint64_t byte_limit = 0;     ///< bytes=<n>, B; 0: the server's ceiling alone
  std::uint64_t time_limit_us = 0;  ///< U; 0: the server's ceiling alone
  bool reverse = false;             ///< descending output
  bool keys_only = false;           ///< KEY lines, no values
  bool with_cas = false;            ///< scans, pscans
  bool want_cursor = false;    ///< print CURSOR where more remains, even if only the limit ended the page
  bool base64 = false;         ///< keys go out (and bounds came in) as base64
  bool exact = false;          ///< mc: e, X
  bool locked = false;         ///< X, mt: at one point in time; mx and mt: all of the range or nothing
  NumericModes numeric;        ///< mc: M
  std::string_view delimiter;  ///< mc: D, empty if not given
  bool names_only = false;     ///< mc: k
  /// Set by a server that has only a part of all keys, not by the line: the page ends before this key
  /// (walking down, at it), and another server continues behind it. Empty for no cut. The text that it points
  /// to must stay.
  std::string_view cut;
};

struct Request {
  verb op = verb::get;
  bool noreply = false;
  std::string_view key;         ///< the key, or the first of several
  std::string_view keys;        ///< get family: all key tokens as sent, each already checked; see next_key()
  std::uint32_t key_count = 0;  ///< get family: how many
  std::uint32_t flags = 0;      ///< storage
  std::int64_t exptime = 0;  ///< storage, touch, gat, mt: as sent; flush_all: the delay; debugtime: seconds
  std::uint64_t value_bytes = 0;  ///< storage: length of the data block without its CR LF
  std::uint64_t cas = 0;          ///< of cas: the number to compare with
  std::uint64_t delta = 0;        ///< incr, decr
  std::uint32_t verbosity = 0;    ///< verbosity: the level
  std::uint32_t mebibytes = 0;    ///< cache_memlimit
  std::uint32_t watched =
      0;  ///< watch: kinds as bits: fetchers mutations evictions deletions connevents; mw: pdext
  std::uint32_t batch_lines = 0;  ///< mb: lines that follow
  std::uint64_t dump_lines = 0;   ///< cachedump: most lines
  bool shutdown_known = false;    ///< shutdown: its argument is a known one
  std::string_view
      argument;  ///< stats: the group, empty for none; shutdown, debugtime: the word; client: the rest
  std::string_view setting;  ///< config set
  RangeRequest range;        ///< meaningful only for range verbs; the parser resets it for them alone
  MetaFlags
      meta;  ///< only of meta commands and by the binary protocol; T of ms is in `exptime` too, F in `flags`
  std::array<char, 3 * (kMaxKeyBytes + 6)> scratch;  ///< decoded bounds and keys

  /// The request came by the binary protocol.
  [[nodiscard]] bool is_binary() const noexcept { return meta.binary.given(); }
};

/// The second word of `argument`; empty: there is none.
[[nodiscard]] inline std::string_view word_behind(std::string_view argument) noexcept {
  const std::size_t space = argument.find(' ');
  const std::size_t begin = space == std::string_view::npos ? space : argument.find_first_not_of(' ', space);
  return begin == std::string_view::npos ? std::string_view{}
                                         : argument.substr(begin, argument.find(' ', begin) - begin);
}

/// Takes the next key token off `keys` (which begins with no or more spaces); empty when none is left.
[[nodiscard]] inline std::string_view next_key(std::string_view& keys) noexcept {
  const char* const end = keys.data() + keys.size();
  const char* begin = keys.data();
  while (begin != end && *begin == ' ') {
    ++begin;
  }
  const char* behind = find_not_key(begin, end);
  while (behind != end && *behind != ' ') [[unlikely]] {
    behind = find_not_key(behind + 1, end);
  }
  keys = {behind, static_cast<std::size_t>(end - behind)};
  return {begin, static_cast<std::size_t>(behind - begin)};
}

}  // namespace mxkv::protocol

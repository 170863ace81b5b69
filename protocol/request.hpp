// A parsed command of the classic text protocol. Plain data; the views point into the caller's buffer (or,
// for decoded cursors and base64 bounds, into the request's own scratch) and are good until either changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/words.hpp"

namespace mxkv::protocol {

/// Longest key, in bytes.
inline constexpr std::size_t kMaxKeyBytes = 250;

enum class verb : std::uint8_t {
  get,
  gets,
  gat,
  gats,
  set,  ///< also `put`
  add,
  replace,
  append,
  prepend,
  cas,
  incr,
  decr,
  touch,
  remove,  ///< `delete`
  scan,
  scans,
  pscan,
  pscans,
  stats,
  version,
  verbosity,
  flush_all,
  quit,
};

[[nodiscard]] constexpr bool is_storage(verb op) noexcept {
  return op >= verb::set && op <= verb::cas;
}
[[nodiscard]] constexpr bool is_retrieval(verb op) noexcept {
  return op <= verb::gats;
}
[[nodiscard]] constexpr bool is_range(verb op) noexcept {
  return op >= verb::scan && op <= verb::pscans;
}

/// One end of a range.
struct RangeBound {
  std::string_view key;   ///< raw bytes; unused if unbounded
  bool unbounded = true;  ///< the minimum as a low bound, the maximum as a high one
  bool inclusive = true;
};

/// Arguments of scan, scans, pscan, pscans. Bounds are low to high whatever the direction. A prefix stays a
/// prefix here: the range is all keys that begin with it, cut by `low` and `high` (a resumed page).
struct RangeRequest {
  RangeBound low;
  RangeBound high;
  std::string_view prefix;  ///< pscan: may be empty only there
  bool by_prefix = false;
  std::uint64_t limit = 0;       ///< records wanted, before the server's ceiling
  std::uint64_t byte_limit = 0;  ///< bytes=<n>; 0: the server's ceiling alone
  bool reverse = false;          ///< descending output
  bool keys_only = false;        ///< KEY lines, no values
  bool with_cas = false;         ///< scans, pscans
  bool want_cursor = false;      ///< print CURSOR where more remains, even if only the limit ended the page
  bool base64 = false;           ///< keys go out (and bounds came in) as base64
};

struct Request {
  verb op = verb::get;
  bool noreply = false;
  std::string_view key;         ///< the key, or the first of several
  std::string_view keys;        ///< get family: all key tokens as sent, each already checked; see next_key()
  std::uint32_t key_count = 0;  ///< get family: how many
  std::uint32_t flags = 0;      ///< storage
  std::int64_t exptime = 0;     ///< storage, touch, gat: as sent; flush_all: the delay in seconds
  std::uint64_t value_bytes = 0;  ///< storage: length of the data block without its CR LF
  std::uint64_t cas_unique = 0;   ///< cas
  std::uint64_t delta = 0;        ///< incr, decr
  std::string_view argument;      ///< stats: the group, empty for none; verbosity: the level
  RangeRequest range;             ///< meaningful only for range verbs; the parser resets it for them alone
  std::array<char, 3 * (kMaxKeyBytes + 6)> scratch;  ///< decoded bounds
};

/// Takes the next key token off `keys` (which begins with no or more spaces); empty when none is left.
[[nodiscard]] inline std::string_view next_key(std::string_view& keys) noexcept {
  const char* const end = keys.data() + keys.size();
  const char* begin = keys.data();
  while (begin != end && *begin == ' ') {
    ++begin;
  }
  const char* const behind = find_not_key(begin, end);
  keys = {behind, static_cast<std::size_t>(end - behind)};
  return {begin, static_cast<std::size_t>(behind - begin)};
}

}  // namespace mxkv::protocol

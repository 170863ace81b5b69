// What a command asks of one key, whatever words it came in. Plain data: the key and the flags point to what
// outlives the request.
//
// Classic commands are meta operations with another style of reply: incr is ma, cas is ms with C, gat is mg
// with T. So what a request does is told by its action and a few terms; the word that it came by tells only
// how it is counted, logged and answered.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"

namespace mxkv::protocol {

/// What is done with the item of the key.
enum class point_action : std::uint8_t {
  read,     ///< get gets gat gats touch, mg
  store,    ///< set add replace append prepend cas, ms
  remove,   ///< delete, md
  count,    ///< incr decr, ma
  inspect,  ///< me
};

/// When a value that was sent is stored, and how.
enum class store_mode : std::uint8_t { set, add, replace, append, prepend };

/// The terms of a request that its word alone tells, or its flags.
struct PointTerms {
  point_action action = point_action::read;
  store_mode mode = store_mode::set;
  bool down = false;      ///< count: subtract
  bool compares = false;  ///< only if the item has the unique `compare`
  bool touches = false;   ///< the item gets a new time to live, `exptime`
  bool ordered = false;   ///< it has a place in the order of its connection's writes
};

struct PointRequest {
  std::string_view key;
  PointTerms terms{};
  verb op = verb::get;       ///< the word
  bool end_line = true;      ///< get, gat: END follows; not behind one of several keys
  std::int64_t exptime = 0;  ///< as sent
  std::uint64_t compare = 0;
  std::uint64_t delta = 0;  ///< count: by how much
  const MetaFlags* flags =
      nullptr;  ///< of a meta command, or by the binary protocol: what else it asks and what it wants told; else null

  [[nodiscard]] bool has_flags() const noexcept { return flags != nullptr; }
  /// Came by the binary protocol, and is answered so.
  [[nodiscard]] bool is_binary() const noexcept { return flags != nullptr && flags->binary.given(); }
  [[nodiscard]] bool is_meta() const noexcept { return flags != nullptr && !flags->binary.given(); }
  /// Whether its flags have to be kept with it.
  [[nodiscard]] bool has_flags_of_its_own() const noexcept {
    return flags != nullptr && flags != &kNoMetaFlags;
  }
  /// Makes an item where there is none, though it is no command that stores.
  [[nodiscard]] bool vivifies() const noexcept { return flags != nullptr && flags->vivify; }
  /// I: an older unique than the item's does not hold it up; what comes of that is stale.
  [[nodiscard]] bool invalidates() const noexcept { return flags != nullptr && flags->invalidate; }
  /// Joins what was sent to what is there.
  [[nodiscard]] bool joins() const noexcept {
    return terms.mode == store_mode::append || terms.mode == store_mode::prepend;
  }
  /// Its value takes the place of whatever is there.
  [[nodiscard]] bool sets() const noexcept {
    return terms.action == point_action::store && terms.mode == store_mode::set && !terms.compares;
  }
  /// Changes nothing, but for who is to renew an item.
  [[nodiscard]] bool only_reads() const noexcept {
    return terms.action == point_action::inspect ||
           (terms.action == point_action::read && !terms.touches && !vivifies());
  }
  /// Tells of the reads before it: none that was sent behind it may come before.
  [[nodiscard]] bool tells_access() const noexcept {
    return terms.action == point_action::inspect || (has_flags() && flags->tells_access);
  }
  /// Answers with what the item is: gat, mg, and reads. No other answer may come between, so it is not ordered.
  [[nodiscard]] bool shows_item() const noexcept { return !terms.ordered; }

  /// What a meta command's flags say. They outlive the request.
  void take(const MetaFlags& from) noexcept {
    flags = &from;
    exptime = from.exptime;
    compare = from.compare;
    delta = from.delta;
    terms.touches = from.has_exptime;
    terms.compares = from.has_compare;
    terms.down = from.mode == 'D';
    terms.mode = mode_of(from.mode);
  }

 private:
  [[nodiscard]] static store_mode mode_of(char letter) noexcept {
    return letter == 'E'   ? store_mode::add
           : letter == 'A' ? store_mode::append
           : letter == 'P' ? store_mode::prepend
           : letter == 'R' ? store_mode::replace
                           : store_mode::set;
  }
};

/// A word that asks for something of one key.
struct PointWord {
  verb op = verb::get;
  PointTerms terms{};
  std::string_view text{};
};

namespace detail {

/// The row of a verb; an empty one for what is no command for one key. It has no default: a verb without terms
/// would be answered as a get.
constexpr PointWord row_of(verb op) noexcept {
  using enum point_action;
  switch (op) {
    case verb::get:
      return {op, {read}, "get"};
    case verb::gets:
      return {op, {read}, "gets"};
    case verb::gat:
      return {op, {.action = read, .touches = true}, "gat"};
    case verb::gats:
      return {op, {.action = read, .touches = true}, "gats"};
    case verb::touch:
      return {op, {.action = read, .touches = true, .ordered = true}, "touch"};
    case verb::set:
      return {op, {.action = store, .ordered = true}, "set"};
    case verb::add:
      return {op, {.action = store, .mode = store_mode::add, .ordered = true}, "add"};
    case verb::replace:
      return {op, {.action = store, .mode = store_mode::replace, .ordered = true}, "replace"};
    case verb::append:
      return {op, {.action = store, .mode = store_mode::append, .ordered = true}, "append"};
    case verb::prepend:
      return {op, {.action = store, .mode = store_mode::prepend, .ordered = true}, "prepend"};
    case verb::cas:
      return {op, {.action = store, .compares = true, .ordered = true}, "cas"};
    case verb::incr:
      return {op, {.action = count, .ordered = true}, "incr"};
    case verb::decr:
      return {op, {.action = count, .down = true, .ordered = true}, "decr"};
    case verb::remove:
      return {op, {.action = remove, .ordered = true}, "delete"};
    case verb::meta_get:
      return {op, {read}, "mg"};
    case verb::meta_set:
      return {op, {.action = store, .ordered = true}, "ms"};
    case verb::meta_delete:
      return {op, {.action = remove, .ordered = true}, "md"};
    case verb::meta_arithmetic:
      return {op, {.action = count, .ordered = true}, "ma"};
    case verb::meta_debug:
      return {op, {inspect}, "me"};
    // By name: what is for no key, or for many.
    case verb::cache_memlimit:
    case verb::cachedump:
    case verb::client:
    case verb::config_get:
    case verb::config_set:
    case verb::debugtime:
    case verb::flush_all:
    case verb::meta_batch:
    case verb::meta_count:
    case verb::meta_noop:
    case verb::meta_range:
    case verb::meta_range_delete:
    case verb::meta_range_touch:
    case verb::metadump:
    case verb::mgdump:
    case verb::pscan:
    case verb::pscans:
    case verb::quit:
    case verb::refresh_certs:
    case verb::scan:
    case verb::scans:
    case verb::shutdown:
    case verb::stats:
    case verb::tune:
    case verb::verbosity:
    case verb::version:
    case verb::watch:
      break;
  }
  return {};
}

inline constexpr std::size_t kVerbs = 64;

/// The rows by verb.
inline constexpr std::array<PointWord, kVerbs> kPointWordOf = [] {
  std::array<PointWord, kVerbs> words{};
  for (std::size_t n = 0; n < kVerbs; ++n) {
    words[n] = row_of(static_cast<verb>(n));
  }
  return words;
}();

}  // namespace detail

/// What is known of a word for one key; its text is empty for any other command.
[[nodiscard]] constexpr const PointWord& point_word(verb op) noexcept {
  return detail::kPointWordOf[static_cast<std::size_t>(op)];
}

/// What a parsed command for one key asks. The flags are those of `request`.
[[nodiscard]] inline PointRequest point_request(const Request& request) noexcept {
  PointRequest point{.key = request.key, .terms = point_word(request.op).terms, .op = request.op};
  if (is_meta(request.op) || request.is_binary()) {
    point.take(request.meta);
  } else {
    point.exptime = request.exptime;
    point.compare = request.cas_unique;
    point.delta = request.delta;
  }
  return point;
}

/// mg with v alone.
[[nodiscard]] inline PointRequest usual_meta_get(std::string_view key) noexcept {
  PointRequest point{.key = key, .terms = point_word(verb::meta_get).terms, .op = verb::meta_get};
  point.take(kValueAlone);
  return point;
}
/// set with neither flags nor time, or ms with no flags.
[[nodiscard]] inline PointRequest usual_set(std::string_view key, bool meta) noexcept {
  return {.key = key,
          .terms = point_word(verb::set).terms,
          .op = meta ? verb::meta_set : verb::set,
          .flags = meta ? &kNoMetaFlags : nullptr};
}
/// delete, or md of a key that may be no text.
[[nodiscard]] inline PointRequest usual_delete(std::string_view key, bool binary_key) noexcept {
  const verb op = binary_key ? verb::meta_delete : verb::remove;
  return {
      .key = key, .terms = point_word(op).terms, .op = op, .flags = binary_key ? &kBinaryKeyAlone : nullptr};
}

}  // namespace mxkv::protocol

// What a command asks of one key, whatever words it came in. Plain data: the key and the flags point to what
// outlives the request.
//
// Classic commands are meta operations with another style of reply: incr is ma, cas is ms with C, gat is mg
// with T. So what a request does is told by its action and a few terms; the word that it came by tells only
// how it is counted, logged and answered.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"

namespace mxkv::protocol {

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

/// What a parsed command for one key asks. The flags are those of `request`.
[[nodiscard]] inline PointRequest point_request(const Request& request) noexcept {
  PointRequest point{.key = request.key, .terms = command_of(request.op).terms, .op = request.op};
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
  PointRequest point{.key = key, .terms = command_of(verb::meta_get).terms, .op = verb::meta_get};
  point.take(kValueAlone);
  return point;
}
/// set with neither flags nor time, or ms with no flags.
[[nodiscard]] inline PointRequest usual_set(std::string_view key, bool meta) noexcept {
  return {.key = key,
          .terms = command_of(verb::set).terms,
          .op = meta ? verb::meta_set : verb::set,
          .flags = meta ? &kNoMetaFlags : nullptr};
}
/// delete, or md of a key that may be no text.
[[nodiscard]] inline PointRequest usual_delete(std::string_view key, bool binary_key) noexcept {
  const verb op = binary_key ? verb::meta_delete : verb::remove;
  return {
      .key = key, .terms = command_of(op).terms, .op = op, .flags = binary_key ? &kBinaryKeyAlone : nullptr};
}

}  // namespace mxkv::protocol

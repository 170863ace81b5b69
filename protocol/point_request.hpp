// A request for one key, in classic, meta or binary form. Plain data: the key and the flags point to memory
// that outlives the request.
//
// Classic commands are meta operations with another form of reply: incr is ma, cas is ms with C, gat is mg
// with T. So the action and a few terms say what a request does. Its word only decides how it is counted,
// logged and answered.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"

namespace mxkv::protocol {

struct PointRequest {
  std::string_view key;
  PointTerms terms{};
  verb op = verb::get;       ///< the word
  bool end_line = true;      ///< get, gat: END follows this key; false for all keys of a line but the last
  std::int64_t exptime = 0;  ///< as sent
  std::uint64_t compare = 0;
  std::uint64_t delta = 0;           ///< count: by how much; the operand of further commands
  const MetaFlags* flags = nullptr;  ///< flags of a meta or binary request; null for a classic command

  [[nodiscard]] bool has_flags() const noexcept { return flags != nullptr; }
  /// The request came by the binary protocol, and so is its answer.
  [[nodiscard]] bool is_binary() const noexcept { return flags != nullptr && flags->binary.given(); }
  [[nodiscard]] bool is_meta() const noexcept { return flags != nullptr && !flags->binary.given(); }
  /// Whether the flags are this request's own, so that they must be kept with it.
  [[nodiscard]] bool has_flags_of_its_own() const noexcept {
    return flags != nullptr && flags != &kNoMetaFlags;
  }
  /// N: makes an item where there is none, though the command does not store.
  [[nodiscard]] bool vivifies() const noexcept { return flags != nullptr && flags->vivify; }
  /// I: a cas older than the item's does not refuse the request, but marks its result as stale.
  [[nodiscard]] bool invalidates() const noexcept { return flags != nullptr && flags->invalidate; }
  /// Joins the value that was sent to the value of the item.
  [[nodiscard]] bool joins() const noexcept {
    return terms.mode == store_mode::append || terms.mode == store_mode::prepend;
  }
  /// Its value replaces the item's value, if there is one.
  [[nodiscard]] bool sets() const noexcept {
    return terms.action == point_action::store && terms.mode == store_mode::set && !terms.compares;
  }
  /// Changes nothing but the item's winner, the client that is to renew it.
  [[nodiscard]] bool only_reads() const noexcept {
    return terms.action == point_action::inspect ||
           (effect_of(terms.action) == value_effect::none && !terms.touches && !vivifies());
  }
  /// get, gets: its reply is the item, in the form that has the shortest way through the store.
  [[nodiscard]] bool is_classic_get() const noexcept {
    return terms.action == point_action::read && !terms.touches && flags == nullptr;
  }
  /// No read sent behind it may be executed before it: its reply tells of earlier reads, or it makes its client the
  /// item's winner, which the replies to later reads tell.
  [[nodiscard]] bool precedes_reads() const noexcept {
    return terms.action == point_action::inspect ||
           (has_flags() && (flags->tells_access || flags->has_recache));
  }
  /// gat, mg and reads: its reply shows the item. No other answer may come between, so it is not ordered.
  [[nodiscard]] bool shows_item() const noexcept { return !terms.ordered; }

  /// Takes the terms that a meta command's flags give. The flags must outlive the request.
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

/// The point request of a parsed command for one key. Its flags point into `request`.
[[nodiscard]] inline PointRequest point_request(const Request& request) noexcept {
  PointRequest point{.key = request.key, .terms = command_of(request.op).terms, .op = request.op};
  if (is_meta(request.op) || request.is_binary()) {
    point.take(request.meta);
  } else {
    point.exptime = request.exptime;
    point.compare = request.cas;
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
/// delete, or md of a key that may be binary.
[[nodiscard]] inline PointRequest usual_delete(std::string_view key, bool binary_key) noexcept {
  const verb op = binary_key ? verb::meta_delete : verb::remove;
  return {
      .key = key, .terms = command_of(op).terms, .op = op, .flags = binary_key ? &kBinaryKeyAlone : nullptr};
}

}  // namespace mxkv::protocol

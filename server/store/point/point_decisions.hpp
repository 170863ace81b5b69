// The decisions of requests for one key: pure functions of the request, the item, the limits and the moment.
// They allocate nothing and change nothing; a WriteOperation builds the result.
//
// One family serves classic commands, meta commands and the lines of batches (protocol rules 17-35).
#pragma once

#include "protocol/point_request.hpp"
#include "protocol/reply_codes.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// What happens to the key's entry.
enum class entry_fate : std::uint8_t { stays, replaced, removed, changed_in_place };

/// The result that the client gets: one of the codes up to too_large. A read that finds no item is not_found.
using point_result = protocol::reply_code;

/// The source of the item that takes the entry.
enum class item_source : std::uint8_t {
  none,
  sent,         ///< the received item, unchanged
  sent_stale,   ///< a copy of it, with the decision's expiry and marks
  appended,     ///< the old value, then the received one
  prepended,    ///< the received value, then the old one
  number,       ///< the decision's number
  old_version,  ///< the old item, same version, with an expiry field
  old_value,    ///< the old value as a new version, with the decision's expiry and marks
  empty,        ///< no value, with the decision's expiry and marks
};

/// Fields that the source does not use are 0.
struct PointDecision {
  entry_fate fate = entry_fate::stays;
  point_result result = point_result::stored;
  item_source source = item_source::none;
  bool wins = false;   ///< mg: its client is to renew the item
  bool makes = false;  ///< N made the item, as there was none
  std::uint32_t expiry = 0;
  std::uint32_t marks = 0;
  std::uint64_t number = 0;
};

/// What the key refers to. The item must be safe to read.
struct FoundItem {
  const Item* item = nullptr;  ///< null: nothing
  bool live = false;           ///< neither expired nor flushed
};

struct PointLimits {
  std::uint64_t value_bytes;  ///< of a joined value
};

/// Whether R asks to renew an item with so little time left. A T before the R counts.
[[nodiscard]] bool asks_to_renew(const protocol::MetaFlags& flags, std::uint32_t expiry,
                                 const Moment& moment) noexcept;

/// Whether mg lets its client renew the item (protocol rule 35): the item is stale, or R asks for it.
[[nodiscard]] inline bool grants_recache(const Item& item, const protocol::MetaFlags& flags,
                                         const Moment& moment) noexcept {
  return !item.marked(Item::kWon) &&
         (item.marked(Item::kStale) || (flags.has_recache && asks_to_renew(flags, item.expiry(), moment)));
}

/// The expiry after the flags T and N in the order sent. `made`: N made the item, as there was none.
[[nodiscard]] std::uint32_t expiry_after(const protocol::MetaFlags& flags, std::uint32_t before, bool made,
                                         const Moment& moment) noexcept;

/// Marks of an item that a command makes from a key alone.
[[nodiscard]] inline std::uint32_t key_marks(const protocol::PointRequest& request) noexcept {
  return request.has_flags() && request.flags->binary_key ? std::uint32_t{Item::kBinary} : 0U;
}

[[nodiscard]] constexpr PointDecision leaves(point_result result) noexcept {
  return {.result = result};
}
[[nodiscard]] constexpr PointDecision stores(item_source source) noexcept {
  return {.fate = entry_fate::replaced, .result = point_result::stored, .source = source};
}
/// Whether the item has another cas than the request compares with.
[[nodiscard]] inline bool differs(const Item& item, const protocol::PointRequest& request) noexcept {
  return request.terms.compares && item.cas() != request.compare;
}

/// Decides on a received value where a live item is to be joined, or its cas compared.
[[nodiscard]] PointDecision decide_on_old_value(const protocol::PointRequest& request, const Item& old,
                                                const Item& sent, const PointLimits& limits) noexcept;

/// For set add replace append prepend cas, ms. `sent`: the received item.
[[nodiscard, gnu::always_inline]] inline PointDecision decide_store(const protocol::PointRequest& request,
                                                                    FoundItem found, const Item& sent,
                                                                    const PointLimits& limits) noexcept {
  using protocol::store_mode;
  const bool joins = request.joins();
  if (found.live) {
    if (request.terms.mode == store_mode::add) {
      return leaves(point_result::not_stored);
    }
    return joins || request.terms.compares ? decide_on_old_value(request, *found.item, sent, limits)
                                           : stores(item_source::sent);
  }
  if ((joins && !request.vivifies()) ||
      (request.terms.mode == store_mode::replace && !request.terms.compares)) {
    return leaves(point_result::not_stored);
  }
  if (request.terms.compares && !joins && request.terms.mode != store_mode::add) {
    return leaves(point_result::not_found);
  }
  return stores(item_source::sent);
}

/// For md of a live item.
[[nodiscard]] PointDecision decide_meta_remove(const protocol::PointRequest& request, const Item& old,
                                               const Moment& moment) noexcept;

/// For delete, md.
[[nodiscard, gnu::always_inline]] inline PointDecision decide_remove(const protocol::PointRequest& request,
                                                                     FoundItem found,
                                                                     const Moment& moment) noexcept {
  if (!found.live) {
    return {.fate = found.item == nullptr ? entry_fate::stays : entry_fate::removed,
            .result = point_result::not_found};
  }
  if (request.has_flags()) {
    return decide_meta_remove(request, *found.item, moment);
  }
  return {.fate = entry_fate::removed, .result = point_result::deleted};
}
/// For all other actions: incr decr, ma, gat gats touch, and mg where it may change the item.
[[nodiscard]] PointDecision decide_rarer_change(const protocol::PointRequest& request, FoundItem found,
                                                const Moment& moment) noexcept;

/// For all commands that do not store a value that was sent.
[[nodiscard, gnu::always_inline]] inline PointDecision decide_change(const protocol::PointRequest& request,
                                                                     FoundItem found,
                                                                     const Moment& moment) noexcept {
  return request.terms.action == protocol::point_action::remove ? decide_remove(request, found, moment)
                                                                : decide_rarer_change(request, found, moment);
}

}  // namespace mxkv::server

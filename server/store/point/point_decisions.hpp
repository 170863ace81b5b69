// What a request for one key makes of what it finds: pure functions of the request, the item, the limits and
// the moment. They allocate nothing and change nothing; a WriteOperation builds what they say.
//
// One family serves classic commands, meta commands and the lines of batches (protocol rules 17-35).
#pragma once

#include "protocol/point_request.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// What becomes of the entry of the key.
enum class entry_fate : std::uint8_t { stays, replaced, removed, changed_in_place };

/// What the client is told.
enum class point_result : std::uint8_t {
  stored,
  not_stored,
  exists,
  not_found,
  deleted,
  touched,
  number,  ///< the new value
  value,   ///< the item
  non_numeric,
  no_memory,
  too_large,
};

/// What the item is made of that takes the entry.
enum class item_source : std::uint8_t {
  none,
  sent,         ///< the item that came, as it came
  sent_stale,   ///< a copy of that, with the expiry and marks of the decision
  appended,     ///< the old value, and what was sent behind it
  prepended,    ///< what was sent, and the old value behind it
  number,       ///< the number of the decision
  old_version,  ///< the old item as the same version, with room for an expiry
  old_value,    ///< the old value as a new version, with the expiry and marks of the decision
  empty,        ///< no value, with the expiry and marks of the decision
};

/// Values without meaning for a decision's source are 0.
struct PointDecision {
  entry_fate fate = entry_fate::stays;
  point_result result = point_result::stored;
  item_source source = item_source::none;
  bool wins = false;   ///< mg: its client is the one that is to renew the item
  bool makes = false;  ///< N made the item, where nothing was
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
  std::uint64_t value_bytes;  ///< of what is joined
};

/// Whether R asks for more time than is left to an item. T before R counts.
[[nodiscard]] bool asks_to_renew(const protocol::MetaFlags& flags, std::uint32_t expiry,
                                 const Moment& moment) noexcept;

/// Whether mg makes its client the one that is to renew the item (protocol rule 35): it is stale, or R says so.
[[nodiscard]] inline bool grants_recache(const Item& item, const protocol::MetaFlags& flags,
                                         const Moment& moment) noexcept {
  return !item.marked(Item::kWon) &&
         (item.marked(Item::kStale) || (flags.has_recache && asks_to_renew(flags, item.expiry(), moment)));
}

/// Expiry after the flags T and N in the order sent; `made`: by N, where nothing was.
[[nodiscard]] std::uint32_t expiry_after(const protocol::MetaFlags& flags, std::uint32_t before, bool made,
                                         const Moment& moment) noexcept;

/// Marks of an item that a command makes of a key alone.
[[nodiscard]] inline std::uint32_t key_marks(const protocol::PointRequest& request) noexcept {
  return request.has_flags() && request.flags->binary_key ? std::uint32_t{Item::kBinary} : 0U;
}

[[nodiscard]] constexpr PointDecision leaves(point_result result) noexcept {
  return {.result = result};
}
[[nodiscard]] constexpr PointDecision stores(item_source source) noexcept {
  return {.fate = entry_fate::replaced, .result = point_result::stored, .source = source};
}
/// Not what the client asked its request to depend on.
[[nodiscard]] inline bool differs(const Item& item, const protocol::PointRequest& request) noexcept {
  return request.terms.compares && item.unique() != request.compare;
}

/// A value was sent, and a live item has another unique, or is to be joined.
[[nodiscard]] PointDecision decide_on_old_value(const protocol::PointRequest& request, const Item& old,
                                                const Item& sent, const PointLimits& limits) noexcept;

/// set add replace append prepend cas, ms. `sent`: the item that came.
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

/// md, of a live item.
[[nodiscard]] PointDecision decide_meta_remove(const protocol::PointRequest& request, const Item& old,
                                               const Moment& moment) noexcept;

/// delete, md.
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
/// incr decr, ma.
[[nodiscard]] PointDecision decide_count(const protocol::PointRequest& request, FoundItem found,
                                         const Moment& moment) noexcept;
/// gat gats touch, and mg where it may change the item.
[[nodiscard]] PointDecision decide_read(const protocol::PointRequest& request, FoundItem found,
                                        const Moment& moment) noexcept;

/// Any but those that store.
[[nodiscard, gnu::always_inline]] inline PointDecision decide_change(const protocol::PointRequest& request,
                                                                     FoundItem found,
                                                                     const Moment& moment) noexcept {
  switch (request.terms.action) {
    case protocol::point_action::remove:
      return decide_remove(request, found, moment);
    case protocol::point_action::count:
      return decide_count(request, found, moment);
    case protocol::point_action::read:
      return decide_read(request, found, moment);
    case protocol::point_action::store:
    case protocol::point_action::inspect:
      break;
  }
  MXKV_ASSERT(false, "what stores has a value to decide on, and me changes nothing");
}

}  // namespace mxkv::server

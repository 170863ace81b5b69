#include "server/store/point/point_decisions.hpp"

#include "server/store/item/derived_items.hpp"

namespace mxkv::server {

using protocol::MetaFlags;
using protocol::point_action;
using protocol::PointRequest;
using protocol::store_mode;

bool asks_to_renew(const MetaFlags& flags, std::uint32_t expiry, const Moment& moment) noexcept {
  for (const char letter : flags.wants()) {
    if (letter == 'T') {
      expiry = expiry_from(flags.exptime, moment);
    } else if (letter == 'R' && expiry != 0 && expiry < expiry_from(flags.recache, moment)) {
      return true;
    }
  }
  return false;
}

std::uint32_t expiry_after(const MetaFlags& flags, std::uint32_t before, bool made,
                           const Moment& moment) noexcept {
  for (const char letter : flags.wants()) {
    if (letter == 'T') {
      before = expiry_from(flags.exptime, moment);
    } else if (letter == 'N' && made) {
      before = expiry_from(flags.vivify_exptime, moment);
    }
  }
  return before;
}

PointDecision decide_on_old_value(const PointRequest& request, const Item& old, const Item& sent,
                                  const PointLimits& limits) noexcept {
  if (differs(old, request)) {
    if (request.joins() || !request.invalidates() || request.compare > old.cas()) {
      return leaves(point_result::exists);
    }
    // A value made from an older one is better than none; the stale mark asks a client for a newer one.
    PointDecision decision = stores(item_source::sent_stale);
    decision.expiry = old.expiry();
    decision.marks = key_marks(request) | Item::kStale | (old.marks() & Item::kWon);
    return decision;
  }
  if (!request.joins()) {
    return stores(item_source::sent);
  }
  if (old.value_bytes() + sent.value_bytes() > limits.value_bytes) {
    return leaves(point_result::too_large);
  }
  return stores(request.terms.mode == store_mode::append ? item_source::appended : item_source::prepended);
}

PointDecision decide_meta_remove(const PointRequest& request, const Item& old,
                                 const Moment& moment) noexcept {
  if (differs(old, request)) {
    return leaves(point_result::exists);
  }
  const bool empties = request.flags->remove_value;
  if (!empties && !request.invalidates()) {
    return {.fate = entry_fate::removed, .result = point_result::deleted};
  }
  return {.fate = entry_fate::replaced,
          .result = point_result::deleted,
          .source = empties ? item_source::empty : item_source::old_value,
          .expiry = expiry_after(*request.flags, empties ? 0 : old.expiry(), false, moment),
          .marks = (old.marks() & Item::kBinary) | (request.invalidates() ? Item::kStale : 0U)};
}

namespace {

/// For incr decr, ma.
PointDecision decide_count(const PointRequest& request, FoundItem found, const Moment& moment) noexcept {
  PointDecision decision{
      .fate = entry_fate::replaced, .result = point_result::number, .source = item_source::number};
  if (found.live) {
    const Item& old = *found.item;
    if (differs(old, request)) {
      return leaves(point_result::exists);
    }
    std::uint64_t number = 0;
    if (!read_number(old, number)) {
      return leaves(point_result::non_numeric);
    }
    decision.number = !request.terms.down      ? number + request.delta
                      : number > request.delta ? number - request.delta
                                               : 0;
    decision.expiry = old.expiry();
    decision.marks = old.marks();
  } else if (request.vivifies()) {
    decision.makes = true;
    decision.number = request.flags->initial;
    decision.marks = key_marks(request);
  } else {
    return leaves(point_result::not_found);
  }
  if (request.has_flags()) {
    decision.expiry = expiry_after(*request.flags, decision.expiry, decision.makes, moment);
  }
  return decision;
}

/// For gat gats touch, and mg where it may change the item.
PointDecision decide_read(const PointRequest& request, FoundItem found, const Moment& moment) noexcept {
  if (!found.live) {
    if (!request.vivifies()) {
      return leaves(point_result::not_found);
    }
    return {.fate = entry_fate::replaced,
            .result = point_result::value,
            .source = item_source::empty,
            .wins = true,
            .makes = true,
            .expiry = expiry_after(*request.flags, 0, true, moment),
            .marks = key_marks(request) | Item::kWon};
  }
  const Item& old = *found.item;
  PointDecision decision{.result = request.shows_item() ? point_result::value : point_result::touched};
  decision.wins = request.is_meta() && grants_recache(old, *request.flags, moment);
  const std::uint32_t before = old.expiry();
  decision.expiry = request.terms.touches ? expiry_from(request.exptime, moment) : before;
  if (decision.expiry != before && !old.has_expiry_field()) {
    decision.fate = entry_fate::replaced;
    decision.source = item_source::old_version;
  } else if (decision.expiry != before || decision.wins) {
    decision.fate = entry_fate::changed_in_place;
  }
  return decision;
}

}  // namespace

PointDecision decide_rarer_change(const PointRequest& request, FoundItem found,
                                  const Moment& moment) noexcept {
  switch (request.terms.action) {
    case point_action::count:
      return decide_count(request, found, moment);
    case point_action::read:
      return decide_read(request, found, moment);
    case point_action::remove:
    case point_action::store:
    case point_action::inspect:
      break;
  }
  MXKV_ASSERT(false, "delete and store decide before, and me changes nothing");
}

}  // namespace mxkv::server

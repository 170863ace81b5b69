// What the flags of a meta command mean for an item: pure functions over what was found.
#pragma once

#include <algorithm>

#include "protocol/meta.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/point/meta_reply.hpp"

namespace mxkv::server {

/// Whether mg makes its client the one that is to renew the item (protocol rule 35): it is stale, or R asks for more
/// time than is left. T before R counts.
[[nodiscard]] inline bool grants_recache(const Item& item, const protocol::MetaFlags& flags,
                                         const Moment& moment) noexcept {
  if (item.marked(Item::kWon)) {
    return false;
  }
  if (item.marked(Item::kStale)) {
    return true;
  }
  std::uint32_t expiry = item.expiry();
  for (const char letter : flags.wants()) {
    if (letter == 'T') {
      expiry = expiry_from(flags.exptime, moment);
    } else if (letter == 'R' && expiry != 0 && expiry < expiry_from(flags.recache, moment)) {
      return true;
    }
  }
  return false;
}

/// The answer of mg for an item that is there.
[[nodiscard]] inline MetaAnswer answer_of_get(const Item& item, const protocol::MetaFlags& flags) noexcept {
  const std::uint64_t unique = item.unique();
  const bool same = flags.has_compare && flags.compare == unique;
  return {.code = flags.value && !same ? protocol::meta_code::value : protocol::meta_code::done,
          .shows = "Okcfhlst",
          .key = item.key(),
          .binary_key = item.marked(Item::kBinary),
          .item = &item,
          .size = item.value_bytes(),
          .unique = unique};
}

/// An answer that tells only who asked for what.
[[nodiscard]] inline MetaAnswer answer_of_miss(protocol::meta_code code, std::string_view key,
                                               const protocol::MetaFlags& flags) noexcept {
  return {.code = code, .shows = "Ok", .key = key, .binary_key = flags.binary_key};
}

/// Expiry after the flags T and N in the order sent; `made`: by N, where nothing was.
[[nodiscard]] inline std::uint32_t expiry_after(const protocol::MetaFlags& flags, std::uint32_t before,
                                                bool made, const Moment& moment) noexcept {
  for (const char letter : flags.wants()) {
    if (letter == 'T') {
      before = expiry_from(flags.exptime, moment);
    } else if (letter == 'N' && made) {
      before = expiry_from(flags.vivify_exptime, moment);
    }
  }
  return before;
}

}  // namespace mxkv::server

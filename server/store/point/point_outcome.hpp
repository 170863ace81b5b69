// The outcome of a request for one key, for the writers of text and binary replies. It refers to data that is
// safe to read.
#pragma once

#include "protocol/point_request.hpp"
#include "server/store/point/point_decisions.hpp"

namespace mxkv::server {

/// The command's findings about the item, and its changes. Expiries are steady seconds, 0: never.
struct MetaFindings {
  std::uint64_t order = 0;  ///< of the version that this describes
  std::uint64_t last_access_us = 0;
  std::uint32_t expiry = 0;          ///< before the command
  std::uint32_t touched_expiry = 0;  ///< the expiry set by T
  std::uint32_t made_expiry = 0;     ///< the expiry set by N, if `made`
  bool accessed = false;
  bool made = false;   ///< N made the item, as there was none
  bool stale = false;  ///< X
  bool sent = false;   ///< Z: another client has won it
  bool won = false;    ///< W

  /// The item's current state.
  [[nodiscard]] static MetaFindings of(const Item& item) noexcept;
};

struct PointOutcome {
  const protocol::PointRequest& request;
  point_result result;
  std::uint64_t number = 0;                ///< of a counter: the new value
  const Item* shown = nullptr;             ///< the item there now, if the reply shows it
  const Item* sent = nullptr;              ///< of a storage command: the value that was not put
  const MetaFindings* findings = nullptr;  ///< meta commands

  /// Whether the reply is an error line, which has memcached's words in every style.
  [[nodiscard]] bool is_error() const noexcept {
    return result == point_result::non_numeric || result == point_result::no_memory ||
           result == point_result::too_large;
  }
};

}  // namespace mxkv::server

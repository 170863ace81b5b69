// What became of a request for one key, for the two writers of replies. Everything refers to what is safe to
// read.
#pragma once

#include "protocol/point_request.hpp"
#include "server/store/point/point_decisions.hpp"

namespace mxkv::server {

/// What the command found out about the item as it was before, and did to it. Times are unix seconds, 0:
/// never.
struct MetaFindings {
  std::uint64_t cas = 0;  ///< of which version this is
  std::uint64_t last_access_us = 0;
  std::uint32_t expiry = 0;          ///< before
  std::uint32_t touched_expiry = 0;  ///< by T
  std::uint32_t made_expiry = 0;     ///< by N, if `made`
  bool accessed = false;
  bool made = false;   ///< by N, where nothing was
  bool stale = false;  ///< X
  bool sent = false;   ///< Z: another client has won it
  bool won = false;    ///< W

  /// As the item is now.
  [[nodiscard]] static MetaFindings of(const Item& item) noexcept;
};

struct PointOutcome {
  const protocol::PointRequest& request;
  point_result result;
  std::uint64_t number = 0;                ///< count: the new value
  const Item* shown = nullptr;             ///< what is there now, where the reply tells of it
  const Item* sent = nullptr;              ///< store: what came and was not put
  const MetaFindings* findings = nullptr;  ///< meta commands

  /// A failure that is told in memcached's words whatever the style.
  [[nodiscard]] bool is_error() const noexcept {
    return result == point_result::non_numeric || result == point_result::no_memory ||
           result == point_result::too_large;
  }
};

}  // namespace mxkv::server

// Decides what a user may do, by its role and by the prefixes of its keys.
//
// A request is executed as it was sent, or not at all: if one of several keys is forbidden, so is the line. A
// range must lie completely within one prefix, even if the rest of it holds no keys.
#pragma once

#include "protocol/request.hpp"
#include "server/net/users/users.hpp"

namespace mxkv::server {

/// Whether the user may make the request. Thread-safety: any thread.
[[nodiscard]] bool permits(const User& user, const protocol::Request& request) noexcept;

/// Whether the user may change the item of one key.
[[nodiscard]] bool may_change(const User& user, std::string_view key) noexcept;

/// Whether every key that `range` may reach begins with `prefix`.
[[nodiscard]] bool lies_within(const protocol::RangeRequest& range, std::string_view prefix) noexcept;

}  // namespace mxkv::server

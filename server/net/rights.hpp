// What a user may ask for: by role, and by the prefixes of its keys.
//
// A request is carried out as it was sent, or not at all: one of several keys that is forbidden forbids the line, and
// so does a range that is not all within one prefix, also where nothing is in the rest of it.
#pragma once

#include "protocol/request.hpp"
#include "server/net/users.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
[[nodiscard]] bool permits(const User& user, const protocol::Request& request) noexcept;

/// Whether the user may change the item of one key.
[[nodiscard]] bool may_change(const User& user, std::string_view key) noexcept;

/// Whether every key that `range` may reach begins with `prefix`.
[[nodiscard]] bool lies_within(const protocol::RangeRequest& range, std::string_view prefix) noexcept;

}  // namespace mxkv::server

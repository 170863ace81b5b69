// Takes requests of memcached's binary protocol.
//
// They are executed like text requests. Each request has a ticket, even a quiet one: its ticket
// closes without a byte if it succeeded. So a noop comes after them without a barrier.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/net/session/session_parts.hpp"

namespace mxkv::server {

/// Returns the number of bytes used; 0: the request is not complete, or has to wait. Thread-safety: owner
/// worker only.
std::size_t take_binary(SessionParts& parts, std::string_view data);

}  // namespace mxkv::server

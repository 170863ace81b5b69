// Which command a client sent last, as `client list` tells it.
#pragma once

#include <atomic>
#include <optional>

#include "protocol/request.hpp"

namespace mxkv::server {

/// Nothing: it has sent none. Written by the connection's worker, read by any thread. Relaxed: statistics.
using LastCommand = std::atomic<std::optional<protocol::verb>>;
static_assert(LastCommand::is_always_lock_free);

}  // namespace mxkv::server

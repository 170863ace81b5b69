// The last command of a client, as `client list` shows it.
#pragma once

#include <atomic>
#include <optional>

#include "protocol/request.hpp"

namespace mxkv::server {

/// Empty: the client has sent no command. The connection's worker writes it, any thread reads it. Relaxed:
/// statistics.
using LastCommand = std::atomic<std::optional<protocol::verb>>;
static_assert(LastCommand::is_always_lock_free);

}  // namespace mxkv::server

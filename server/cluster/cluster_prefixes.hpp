// Counts by prefix (mc with D) over several shards, without a lock. The asked node asks the owners of the shards
// one after the other: prefixes are listed in order, and one limit holds for all shards.
#pragma once

#include "protocol/request.hpp"
#include "runtime/base/clock.hpp"
#include "server/cluster/request_forwarder.hpp"
#include "server/cluster/routes.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// Answers the request when the last shard has replied. If one cannot be asked, its error is the whole answer.
/// The first four arguments outlive the count. Thread-safety: the worker that has the forwarder.
void count_prefixes(RequestForwarder& forwarder, ConnectionTable& replies, const Routes& routes,
                    const runtime::Clock& clock, const protocol::Request& request,
                    const ReplyAddress& address);

}  // namespace mxkv::server

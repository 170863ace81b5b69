// `stats cluster`: this node, its shards, and how far their logs are.
#pragma once

#include "server/cluster/cluster_store.hpp"
#include "server/cluster/node_status.hpp"
#include "server/stats/stat_text.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
void add_cluster_stats(StatText& text, const NodeStatus& status, const ClusterStore::Forwarded& forwarded);

}  // namespace mxkv::server

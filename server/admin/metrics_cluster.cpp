// Metrics of a cluster's node: its shards, and the requests and bytes that wait for their logs.
#include <string>

#include "server/admin/metrics.hpp"
#include "server/cluster/cluster_node.hpp"

namespace mxkv::server {

using type = Exposition::type;

void write_cluster(Exposition& out, const ServingParts& parts) {
  if (parts.cluster == nullptr) {
    return;
  }
  const NodeStatus status = parts.cluster->status();
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  one(type::gauge, "mxkv_cluster_map_version", "Version of the shard map that this node follows.",
      status.map_version);
  one(type::gauge, "mxkv_cluster_nodes_alive",
      "Nodes whose heartbeats this node has read lately, itself included.", status.nodes_alive);
  one(type::gauge, "mxkv_cluster_shards_lapsed",
      "Shards that this node owns but does not serve, because the brokers do not acknowledge its lease.",
      status.lapsed);
  one(type::gauge, "mxkv_cluster_brokers_silent",
      "1 if nothing arrived on the cluster's metadata topic for 5 s, not even this node's own messages.",
      std::uint64_t{status.board_silent});
  one(type::gauge, "mxkv_cluster_replica_failed",
      "1 if this node lacks the memory to replicate some of its shards; it tries again by itself.",
      std::uint64_t{status.lacking != 0});
  one(type::gauge, "mxkv_cluster_topic_dangers",
      "Settings of the cluster's topics that can lose acknowledged writes, checked every minute.",
      status.topic_dangers);
  one(type::gauge, "mxkv_cluster_waiting_bytes", "Bytes of records that the logs have not acknowledged yet.",
      status.waiting_bytes);
  one(type::gauge, "mxkv_cluster_applying_bytes", "Bytes read from logs and not applied to memory yet.",
      status.applying_bytes);
  one(type::counter, "mxkv_cluster_groups", "Groups of records appended to logs.", status.groups);
  one(type::counter, "mxkv_cluster_records", "Records appended to logs.", status.records);
  one(type::counter, "mxkv_cluster_log_bytes", "Bytes of records appended to logs.", status.bytes);
  one(type::counter, "mxkv_cluster_void_groups",
      "Groups of records that are void because another node had taken the shard.", status.voided);
  one(type::counter, "mxkv_cluster_given_up",
      "Times that waiting replies were given up and their connections closed.", status.given_up);
  one(type::counter, "mxkv_cluster_board_left_out", "Ignored records on the cluster's metadata topic.",
      status.left_out);
  const ClusterStore::Forwarded forwarded = parts.routed->forwarded();
  one(type::counter, "mxkv_cluster_forwarded", "Requests forwarded to other nodes.", forwarded.requests);
  one(type::counter, "mxkv_cluster_forwarded_again",
      "Forwarded requests that were sent again, to the same or another node.", forwarded.again);
  one(type::counter, "mxkv_cluster_forwards_held", "Forwarded requests that waited for a shard owner.",
      forwarded.held);
  one(type::counter, "mxkv_cluster_forwards_without_owner",
      "Forwarded requests that timed out waiting for a shard owner.", forwarded.no_owner);
  one(type::counter, "mxkv_cluster_forwards_lost",
      "Forwarded writes whose outcome is unknown, because the connection to the owner broke.",
      forwarded.lost);
  one(type::counter, "mxkv_cluster_forwards_without_memory",
      "Requests refused because forwarded requests had used up their memory.", forwarded.no_memory);
  one(type::counter, "mxkv_cluster_forward_connections", "Connections opened to other nodes.",
      forwarded.connects);
  one(type::counter, "mxkv_cluster_replica_reads",
      "Reads answered from this node's replica, although another node owns the shard.",
      forwarded.replica_reads);
  const auto each = [&](type what, const char* name, const char* help, const auto& value) {
    out.family(what, name, help);
    for (const ShardStatus& shard : status.shards) {
      out.add({{"shard", std::to_string(shard.presence.id)}}, value(shard));
    }
  };
  each(type::gauge, "mxkv_shard_serves",
       "1 if this node owns the shard, holds its lease and answers requests.",
       [](const ShardStatus& shard) { return std::uint64_t{shard.presence.serves}; });
  each(type::gauge, "mxkv_shard_loads", "1 if the shard's items are being loaded.",
       [](const ShardStatus& shard) { return std::uint64_t{shard.loading}; });
  each(type::gauge, "mxkv_shard_position", "Position up to which this node has read the shard's log.",
       [](const ShardStatus& shard) { return shard.presence.position; });
  out.family(type::gauge, "mxkv_shard_staleness_seconds",
             "Age of the replica: every write acknowledged longer ago is in memory. Only where replicas are "
             "read and the age is known.");
  for (const ShardStatus& shard : status.shards) {
    if (shard.staleness_ns) {
      out.add_real({{"shard", std::to_string(shard.presence.id)}},
                   static_cast<double>(*shard.staleness_ns) / 1e9);
    }
  }
  each(type::counter, "mxkv_shard_terms", "Times that this node became the shard's owner.",
       [](const ShardStatus& shard) { return shard.counters.terms; });
  each(type::counter, "mxkv_shard_ousted", "Times that another node took the shard without a handover.",
       [](const ShardStatus& shard) { return shard.counters.ousted; });
  each(type::counter, "mxkv_shard_thrown_away", "Times that the shard's memory was dropped and loaded again.",
       [](const ShardStatus& shard) { return shard.hosted.thrown_away; });
  each(type::counter, "mxkv_shard_discarded_messages",
       "Messages in the shard's log that are damaged or from another cluster.",
       [](const ShardStatus& shard) { return shard.counters.discarded; });
  each(type::counter, "mxkv_shard_snapshots", "Snapshots taken of the shard.",
       [](const ShardStatus& shard) { return shard.hosted.snapshots_taken; });
  each(type::counter, "mxkv_shard_snapshot_failures", "Failed snapshots of the shard.",
       [](const ShardStatus& shard) { return shard.hosted.snapshots_failed; });
}

}  // namespace mxkv::server

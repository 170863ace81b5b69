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
  one(type::gauge, "mxkv_cluster_map_version", "Version of the cluster's map that is followed",
      status.map_version);
  one(type::gauge, "mxkv_cluster_nodes_alive", "Nodes that were heard of lately, this one too",
      status.nodes_alive);
  one(type::gauge, "mxkv_cluster_shards_lapsed",
      "Shards that this node owns and does not serve, since the brokers do not acknowledge", status.lapsed);
  one(type::gauge, "mxkv_cluster_brokers_silent",
      "1: nothing of the cluster's board was read for 5 s, not even this node's own messages",
      std::uint64_t{status.board_silent});
  one(type::gauge, "mxkv_cluster_replica_failed",
      "1: memory takes no more of the shards' logs, so that this node is no replica until it is started "
      "again",
      std::uint64_t{!status.memory_failure.empty()});
  one(type::gauge, "mxkv_cluster_topic_dangers",
      "Settings of the cluster's topics that would lose acknowledged writes, as of the last minute",
      status.topic_dangers);
  one(type::gauge, "mxkv_cluster_waiting_bytes", "Records that the logs have not acknowledged yet",
      status.waiting_bytes);
  one(type::gauge, "mxkv_cluster_applying_bytes", "What was read of logs and is not in memory yet",
      status.applying_bytes);
  one(type::counter, "mxkv_cluster_groups", "Groups of records that were given to logs", status.groups);
  one(type::counter, "mxkv_cluster_records", "Records that were given to logs", status.records);
  one(type::counter, "mxkv_cluster_log_bytes", "Bytes of records that were given to logs", status.bytes);
  one(type::counter, "mxkv_cluster_void_groups",
      "Groups of records that count for nobody: another node had the shard", status.voided);
  one(type::counter, "mxkv_cluster_given_up", "Times that replies that waited were given up",
      status.given_up);
  one(type::counter, "mxkv_cluster_board_left_out",
      "What was put on the cluster's board that is nothing for it, or no map to follow", status.left_out);
  const ClusterStore::Forwarded forwarded = parts.routed->forwarded();
  one(type::counter, "mxkv_cluster_forwarded", "Requests that were brought to other nodes",
      forwarded.requests);
  one(type::counter, "mxkv_cluster_forwarded_again", "Those of them that were sent once more, or elsewhere",
      forwarded.again);
  one(type::counter, "mxkv_cluster_forwards_held", "Those that had to wait for an owner", forwarded.held);
  one(type::counter, "mxkv_cluster_forwards_without_owner", "Those that none was found for in time",
      forwarded.no_owner);
  one(type::counter, "mxkv_cluster_forwards_lost", "Writes of which nobody knows what became",
      forwarded.lost);
  one(type::counter, "mxkv_cluster_forwards_without_memory",
      "Those that were refused, since too much was on its way", forwarded.no_memory);
  one(type::counter, "mxkv_cluster_forward_connections", "Connections to other nodes that were begun",
      forwarded.connects);
  one(type::counter, "mxkv_cluster_replica_reads",
      "Reads that this node answered, though another one owns the shard", forwarded.replica_reads);
  const auto each = [&](type what, const char* name, const char* help, const auto& value) {
    out.family(what, name, help);
    for (const ShardStatus& shard : status.shards) {
      out.add({{"shard", std::to_string(shard.presence.id)}}, value(shard));
    }
  };
  each(type::gauge, "mxkv_shard_serves",
       "1: this node owns the shard, and its lease runs: it answers requests",
       [](const ShardStatus& shard) { return std::uint64_t{shard.presence.serves}; });
  each(type::gauge, "mxkv_shard_loads", "1: its items are being loaded",
       [](const ShardStatus& shard) { return std::uint64_t{shard.loading}; });
  each(type::gauge, "mxkv_shard_position", "How far the shard's log is known",
       [](const ShardStatus& shard) { return shard.presence.position; });
  out.family(
      type::gauge, "mxkv_shard_staleness_seconds",
      "What was acknowledged so long ago is in memory; only where replicas are read, while it is known");
  for (const ShardStatus& shard : status.shards) {
    if (shard.staleness_ns) {
      out.add_real({{"shard", std::to_string(shard.presence.id)}},
                   static_cast<double>(*shard.staleness_ns) / 1e9);
    }
  }
  each(type::counter, "mxkv_shard_terms", "Times that this node became the shard's owner",
       [](const ShardStatus& shard) { return shard.counters.terms; });
  each(type::counter, "mxkv_shard_ousted", "Times that another node took the shard without being asked",
       [](const ShardStatus& shard) { return shard.counters.ousted; });
  each(type::counter, "mxkv_shard_thrown_away",
       "Times that the shard's memory was thrown away and loaded again",
       [](const ShardStatus& shard) { return shard.hosted.thrown_away; });
  each(type::counter, "mxkv_shard_discarded_messages", "Messages of its log that are none of this cluster's",
       [](const ShardStatus& shard) { return shard.counters.discarded; });
  each(type::counter, "mxkv_shard_snapshots", "Snapshots that were taken",
       [](const ShardStatus& shard) { return shard.hosted.snapshots_taken; });
  each(type::counter, "mxkv_shard_snapshot_failures", "Snapshots that failed",
       [](const ShardStatus& shard) { return shard.hosted.snapshots_failed; });
}

}  // namespace mxkv::server

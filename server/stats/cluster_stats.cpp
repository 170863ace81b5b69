#include "server/stats/cluster_stats.hpp"

#include <algorithm>
#include <string>

namespace mxkv::server {

void add_cluster_stats(StatText& text, const NodeStatus& status, const ClusterStore::Forwarded& forwarded) {
  text.add("name", status.cluster);
  text.add("node", status.node);
  text.add("process", status.process);
  text.add("map_version", status.map_version);
  text.add("nodes_alive", status.nodes_alive);
  text.add("shards", status.shards_of_cluster);
  text.add("shards_held", status.shards.size());
  text.add("shards_served",
           std::ranges::count_if(status.shards, [](const ShardStatus& one) { return one.presence.serves; }));
  text.add("shards_lacking_memory", status.lacking);
  text.add("epoch_current", status.epoch_current);
  text.add("epoch_durable", status.epoch_durable);
  text.add("waiting_bytes", status.waiting_bytes);
  text.add("applying_bytes", status.applying_bytes);
  text.add("groups", status.groups);
  text.add("records", status.records);
  text.add("log_bytes", status.bytes);
  text.add("void_groups", status.voided);
  text.add("given_up", status.given_up);
  text.add("board_left_out", status.left_out);
  text.add("forwarded", forwarded.requests);
  text.add("forwarded_again", forwarded.again);
  text.add("forwards_held", forwarded.held);
  text.add("forwards_without_owner", forwarded.no_owner);
  text.add("forwards_lost", forwarded.lost);
  text.add("forwards_without_memory", forwarded.no_memory);
  text.add("replica_reads", forwarded.replica_reads);
  text.add("forward_sent_bytes", forwarded.sent_bytes);
  text.add("forward_received_bytes", forwarded.received_bytes);
  text.add("forward_connections", forwarded.connects);
  for (const ShardStatus& one : status.shards) {
    const ShardPresence& shard = one.presence;
    const ShardCounters& counters = one.counters;
    const std::string name = "shard:" + std::to_string(shard.id) + ':';
    text.add(name + "role", shard.serves ? "serves" : shard.role);
    text.add(name + "term", shard.term);
    text.add(name + "position", shard.position);
    text.add(name + "owner", one.owner.empty() ? "-" : one.owner);
    if (one.staleness_ns) {
      text.add(name + "staleness_ms", *one.staleness_ns / 1'000'000);
    }
    text.add(name + "terms_owned", counters.terms);
    text.add(name + "ousted", counters.ousted);
    text.add(name + "left", counters.yielded);
    text.add(name + "stayed", one.hosted.stayed);
    text.add(name + "spared", counters.spared);
    text.add(name + "gaps", counters.gaps);
    text.add(name + "appended_again", counters.again);
    text.add(name + "void_messages", counters.voids + counters.repeats);
    text.add(name + "discarded_messages", counters.discarded);
    text.add(name + "thrown_away", one.hosted.thrown_away);
    text.add(name + "snapshots_taken", one.hosted.snapshots_taken);
    text.add(name + "snapshots_loaded", one.hosted.snapshots_loaded);
    text.add(name + "snapshots_failed", one.hosted.snapshots_failed);
    if (counters.last_flaw != message_flaw::none) {
      text.add(name + "last_flaw", text_of(counters.last_flaw));
    }
  }
  if (!status.last_error.empty()) {
    text.add("last_error", status.last_error);
  }
}

}  // namespace mxkv::server

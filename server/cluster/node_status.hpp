// A node's report on itself, its shards and their logs: for `stats cluster`, metrics and the status page.
// Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/cluster/presence.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::server {

/// A held shard's counters besides ShardCounters.
struct HostedCounters {
  std::uint64_t thrown_away = 0;  ///< how often its memory was dropped
  std::uint64_t snapshots_loaded = 0;
  std::uint64_t snapshots_taken = 0;
  std::uint64_t snapshots_failed = 0;
  std::uint64_t stayed = 0;  ///< how often it was to be left, and its writes did not end in time
};

/// The status of one shard, for people.
struct ShardStatus {
  ShardPresence presence;
  std::string owner;  ///< the owner's peer address; empty: unknown
  ShardCounters counters;
  HostedCounters hosted;
  bool loading = false;
  /// For a follower that checks: all changes acknowledged at least this long ago are in memory.
  std::optional<std::uint64_t> staleness_ns{};
};
struct NodeStatus {
  std::string cluster;
  std::string node;
  std::uint64_t process = 0;
  std::uint64_t map_version = 0;
  std::uint32_t shards_of_cluster = 0;
  std::uint32_t nodes_alive = 0;
  std::vector<ShardStatus> shards;  ///< the shards held here
  std::uint64_t epoch_current = 0;
  std::uint64_t epoch_durable = 0;
  std::uint64_t waiting_bytes = 0;
  std::uint64_t applying_bytes = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t voided = 0;
  std::uint64_t given_up = 0;  ///< how often waiting replies were given up
  std::uint64_t left_out = 0;  ///< values on the board that are not this cluster's
  std::size_t lapsed = 0;      ///< shards that it owns and does not serve: the brokers do not acknowledge
  bool board_silent = false;   ///< no word was read from the board for a while, not even this node's own
  std::size_t lacking = 0;     ///< shards of which it is no replica now, because memory is short
  std::string lack;            ///< why, of one of them; empty: there is none
  bool complete = false;       ///< since the start, all shards have once been as far as the others
  std::size_t incomplete = 0;  ///< shards that have not been so far yet
  std::string not_left;        ///< while the node ends: why others do not take its shards; empty: they do
  std::uint64_t topic_dangers = 0;  ///< topic settings that would lose acknowledged writes
  std::string last_error;           ///< of the engine, or of memory; empty: none
};

}  // namespace mxkv::server

// What a node tells of itself, its shards and their logs: for `stats cluster`, metrics and the status page. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/cluster/presence.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::server {

/// What a shard that is held counts besides ShardCounters.
struct HostedCounters {
  std::uint64_t thrown_away = 0;  ///< times that memory was
  std::uint64_t snapshots_loaded = 0;
  std::uint64_t snapshots_taken = 0;
  std::uint64_t snapshots_failed = 0;
};

/// Of one shard, as people see it.
struct ShardStatus {
  ShardPresence presence;
  std::string owner;  ///< the peer address of its owner; empty: not known
  ShardCounters counters;
  HostedCounters hosted;
  bool loading = false;
  /// Of a follower that finds it out: all that was acknowledged so long ago is in memory.
  std::optional<std::uint64_t> staleness_ns{};
};
struct NodeStatus {
  std::string cluster;
  std::string node;
  std::uint64_t process = 0;
  std::uint64_t map_version = 0;
  std::uint32_t shards_of_cluster = 0;
  std::uint32_t nodes_alive = 0;
  std::vector<ShardStatus> shards;  ///< that are held here
  std::uint64_t epoch_current = 0;
  std::uint64_t epoch_durable = 0;
  std::uint64_t waiting_bytes = 0;
  std::uint64_t applying_bytes = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t voided = 0;
  std::uint64_t given_up = 0;  ///< times that replies that waited were
  std::uint64_t left_out = 0;  ///< of what was put on the board: nothing of this cluster's
  std::size_t lapsed = 0;      ///< shards that it owns and does not serve: the brokers do not acknowledge
  bool board_silent = false;   ///< nothing was read of the board for a while, not even what this node said
  std::string memory_failure;  ///< why it is no replica any more; empty: it is
  bool complete = false;       ///< since the start all shards have been as far as the others were
  std::size_t incomplete = 0;  ///< shards that were not, until then
  std::string not_left;        ///< while the node ends: why others do not take its shards; empty: they do
  std::uint64_t topic_dangers = 0;  ///< settings of topics that would lose acknowledged writes
  std::string last_error;           ///< of the engine, or of memory; empty: there was none
};

}  // namespace mxkv::server

// A cluster's state for an operator: the map, the live nodes, and the shards that each has. Pure; all
// functions: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/cluster_map.hpp"
#include "server/cluster/presence.hpp"

namespace mxkv::server {

struct ClusterState {
  struct Node {
    Presence said;       ///< the last word; without a name: none so far
    bool alive = false;  ///< a word arrived recently
  };
  ClusterMap map;
  std::map<std::string, Node, std::less<>> nodes;  ///< all nodes that were ever heard, by name

  /// The node's word about the shard; null if the node is silent or does not keep the shard.
  [[nodiscard]] const ShardPresence* replica(std::string_view node, std::uint32_t shard) const;
  /// The name of the live node that serves the shard; empty: none.
  [[nodiscard]] std::string owner(std::uint32_t shard) const;
  /// How many messages a replica lags behind the foremost one.
  [[nodiscard]] std::uint64_t behind(const ShardPresence& replica) const;
};

/// For people: a line for the cluster, for each node and each shard.
[[nodiscard]] std::string state_table(const std::string& cluster, const ClusterState& state);
/// For programs, on one line: keys of the map are in base64.
[[nodiscard]] std::string state_json(const std::string& cluster, const ClusterState& state);

/// The first shard that is not yet as the map wants it, and why, such as "shard 3: node d is 2000 messages
/// behind"; empty: each shard is owned by its preferred node, and all its lasting replicas have the data.
/// `only`: looks at that shard alone.
[[nodiscard]] std::string still_missing(const ClusterState& state, std::optional<std::uint32_t> only = {});

/// The shards that no node serves, such as "2 shards of 24 have no owner: 3, 5"; empty: there is none.
[[nodiscard]] std::string without_owner(const ClusterState& state);
/// The first node that may not follow the map in force, such as "node d still follows map 6"; empty: all
/// follow it.
[[nodiscard]] std::string follows_another_map(const ClusterState& state);

/// The changes that the next map makes, a line each, such as "shard 3: a -> b, kept by b, c, and by a until
/// they have it".
[[nodiscard]] std::vector<std::string> changes_of(const ClusterMap& before, const ClusterMap& after);

/// A key for people: bytes that are not printable as \xNN.
[[nodiscard]] std::string text_of_split(std::string_view key);

}  // namespace mxkv::server

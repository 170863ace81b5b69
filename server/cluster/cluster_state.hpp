// A cluster as an operator sees it: the map, who is there, and who has what. Pure; all functions: any thread.
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
    Presence said;       ///< last; without a name: nothing ever
    bool alive = false;  ///< something was heard just now
  };
  ClusterMap map;
  std::map<std::string, Node, std::less<>> nodes;  ///< who ever said anything, by name

  /// What the node said of the shard, if it is alive and keeps it.
  [[nodiscard]] const ShardPresence* replica(std::string_view node, std::uint32_t shard) const;
  /// The name of the node that serves it; empty: none that is alive does.
  [[nodiscard]] std::string owner(std::uint32_t shard) const;
  /// Messages that a replica is behind the foremost one.
  [[nodiscard]] std::uint64_t behind(const ShardPresence& replica) const;
};

/// For people: a line for the cluster, for each node and each shard.
[[nodiscard]] std::string state_table(const std::string& cluster, const ClusterState& state);
/// For programs, on one line: keys of the map are in base64.
[[nodiscard]] std::string state_json(const std::string& cluster, const ClusterState& state);

/// What the map wants and is not yet so, for the first shard of which that is true, such as "shard 3: node d is 2000
/// messages behind"; empty: each is owned by whom the map prefers, and all that stay have it.
/// `only`: of that shard alone.
[[nodiscard]] std::string still_missing(const ClusterState& state, std::optional<std::uint32_t> only = {});

/// The shards that no node serves, such as "2 shards of 24 have no owner: 3, 5"; empty: there is none.
[[nodiscard]] std::string without_owner(const ClusterState& state);
/// The first node that is not known to follow the map in force, such as "node d still follows map 6"; empty: all do.
[[nodiscard]] std::string follows_another_map(const ClusterState& state);

/// What the next map changes, a line each, such as "shard 3: a -> b, kept by b, c, and by a until they have it".
[[nodiscard]] std::vector<std::string> changes_of(const ClusterMap& before, const ClusterMap& after);

/// A key for people: what is not printable as \xNN.
[[nodiscard]] std::string text_of_split(std::string_view key);

}  // namespace mxkv::server

// The cluster's map: its shards, the nodes that keep each shard, and the node that is to own it. It is one
// JSON text: cluster_json.hpp.
//
// A map never changes: an edit makes the next version. If several next versions are made, one wins:
// map_history.hpp. The map does not say which node owns a shard now: the shard's log decides that, and the
// node that the map prefers goes first.
//
// All functions: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::server {

struct ClusterMap {
  struct Node {
    std::string name;
    std::string peer;     ///< address:port that the other nodes use
    std::string address;  ///< address:port that clients use; may be empty
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// The keys from `from` on, up to the next shard's.
  struct Shard {
    std::string from;  ///< empty for the first shard only
    std::int32_t partition = 0;
    std::vector<std::string>
        replicas;         ///< names of the nodes that keep it, at least one; surplus ones at the end
    std::string prefers;  ///< the node that is to own it, one of `replicas`
    friend bool operator==(const Shard&, const Shard&) = default;
  };

  std::uint64_t version = 1;
  std::uint64_t cluster = 0;   ///< random, below 2^53: distinguishes this cluster's logs from other clusters'
  std::uint32_t replicas = 1;  ///< replicas of each shard when no shard moves
  /// An owner that is silent for this long is replaced. A lease takes effect once the owner states it in its
  /// shard's log.
  std::uint32_t lease_ms = 3000;
  std::vector<Shard> shards;  ///< by `from`; a shard's number is its place
  std::vector<Node> nodes;    ///< by name

  [[nodiscard]] const Node* find_node(std::string_view name) const;
  /// The first keys of all shards except the first: the argument that Routes takes.
  [[nodiscard]] std::vector<std::string> splits() const;
  friend bool operator==(const ClusterMap&, const ClusterMap&) = default;
};

/// The map's mistake, with its place, such as "shards[3].replicas: names node d, which is not in nodes";
/// empty: none.
[[nodiscard]] std::string mistake_of(const ClusterMap& map);
/// Whether both maps have the same shards in the same logs: edits never change these.
[[nodiscard]] bool same_shards(const ClusterMap& a, const ClusterMap& b);

/// The first version: shards and replicas spread evenly over `nodes`. Errors: more replicas than nodes, and
/// any mistake that mistake_of() finds.
[[nodiscard]] runtime::Result<ClusterMap> first_map(std::uint64_t cluster, std::uint32_t replicas,
                                                    std::uint32_t lease_ms,
                                                    std::vector<ClusterMap::Node> nodes,
                                                    const std::vector<std::string>& splits);

// The functions below make the next version of a map without mistakes, or say why there is none.

/// Adds a node, or changes the address of a known one.
[[nodiscard]] runtime::Result<ClusterMap> with_node(const ClusterMap& map, const ClusterMap::Node& node);
/// Removes a node. Refused while the node keeps a shard.
[[nodiscard]] runtime::Result<ClusterMap> without_node(const ClusterMap& map, std::string_view name);
/// Makes `node` the preferred owner of the shard, and one of its replicas. If the shard then has one replica
/// too many, the former preferred owner is surplus.
[[nodiscard]] runtime::Result<ClusterMap> moved(const ClusterMap& map, std::uint32_t shard,
                                                std::string_view node);
/// Makes `node` own nothing: each of its shards gets another preferred owner, chosen evenly, which has the
/// data or gets a copy. The node's replicas become surplus.
[[nodiscard]] runtime::Result<ClusterMap> drained(const ClusterMap& map, std::string_view node);
/// Removes surplus replicas; call it when the others have caught up. An error if there are none.
[[nodiscard]] runtime::Result<ClusterMap> settled(const ClusterMap& map);
/// Changes the lease of all shards.
[[nodiscard]] runtime::Result<ClusterMap> with_lease(const ClusterMap& map, std::uint32_t lease_ms);
/// Whether any shard has more replicas than the map asks for.
[[nodiscard]] bool has_surplus(const ClusterMap& map);

}  // namespace mxkv::server

// Which shards a cluster has, which nodes keep each, and who is to own it. One JSON text for all of it: cluster_json.hpp.
//
// A map never changes: an edit makes the next version. Of several next versions one wins: map_history.hpp. Who owns a
// shard right now is not in it: that is decided in the shard's log, where whom the map prefers goes first.
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
    std::string address;  ///< address:port that clients are told; may be empty
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// The keys from `from` on, up to the next shard's.
  struct Shard {
    std::string from;  ///< empty: of the first shard, and only of that
    std::int32_t partition = 0;
    std::vector<std::string>
        replicas;         ///< names of nodes that keep it, at least one; surplus ones at the end
    std::string prefers;  ///< the one of them that is to own it
    friend bool operator==(const Shard&, const Shard&) = default;
  };

  std::uint64_t version = 1;
  std::uint64_t cluster =
      0;  ///< drawn when it was made, below 2^53: what tells its logs from those of another one
  std::uint32_t replicas = 1;  ///< of each shard, when nothing moves
  /// An owner that is not heard of for so long is replaced. In effect from when an owner tells it in its shard's log.
  std::uint32_t lease_ms = 3000;
  std::vector<Shard> shards;  ///< by `from`; a shard's number is its place
  std::vector<Node> nodes;    ///< by name

  [[nodiscard]] const Node* find_node(std::string_view name) const;
  /// The first keys of all shards but the first: what Routes wants.
  [[nodiscard]] std::vector<std::string> splits() const;
  friend bool operator==(const ClusterMap&, const ClusterMap&) = default;
};

/// What makes it none, with its place, such as "shards[3].replicas: names node d, which is not in nodes"; empty: nothing.
[[nodiscard]] std::string mistake_of(const ClusterMap& map);
/// Whether both have the same shards, in the same logs: what edits never change.
[[nodiscard]] bool same_shards(const ClusterMap& a, const ClusterMap& b);

/// The first version: shards and their replicas spread evenly over `nodes`. Errors: more replicas than nodes, and
/// whatever mistake_of() finds.
[[nodiscard]] runtime::Result<ClusterMap> first_map(std::uint64_t cluster, std::uint32_t replicas,
                                                    std::uint32_t lease_ms,
                                                    std::vector<ClusterMap::Node> nodes,
                                                    const std::vector<std::string>& splits);

// What follows makes the next version of a map that has no mistake, or says why there is none.

/// A node more, or another address of one that is there.
[[nodiscard]] runtime::Result<ClusterMap> with_node(const ClusterMap& map, const ClusterMap::Node& node);
/// Refused while it keeps a shard.
[[nodiscard]] runtime::Result<ClusterMap> without_node(const ClusterMap& map, std::string_view name);
/// The shard is to be owned by that node, which keeps it from now on. Where that is one replica too many, the one that
/// was preferred is surplus.
[[nodiscard]] runtime::Result<ClusterMap> moved(const ClusterMap& map, std::uint32_t shard,
                                                std::string_view node);
/// Nothing is to be owned by that node: another one is preferred for each of its shards and has the data or gets them,
/// evenly; its own replicas are surplus.
[[nodiscard]] runtime::Result<ClusterMap> drained(const ClusterMap& map, std::string_view node);
/// Without surplus replicas; for when the others have caught up. An error where there are none.
[[nodiscard]] runtime::Result<ClusterMap> settled(const ClusterMap& map);
/// Another lease for all shards.
[[nodiscard]] runtime::Result<ClusterMap> with_lease(const ClusterMap& map, std::uint32_t lease_ms);
/// Whether any shard has more replicas than it is to have.
[[nodiscard]] bool has_surplus(const ClusterMap& map);

}  // namespace mxkv::server

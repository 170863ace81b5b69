#include "server/cluster/cluster_map.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "config/cluster.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/message.hpp"

namespace mxkv::server {
namespace {

using runtime::Error;
using runtime::Result;
using MapNode = ClusterMap::Node;
using MapShard = ClusterMap::Shard;

constexpr std::uint64_t kMostExact = (std::uint64_t{1} << 53U) - 1;  // greatest for all JSON readers
constexpr std::size_t kMostSplitBytes = 250;
constexpr std::uint64_t kLeaseUnitNs = 1'000'000;

bool keeps(const MapShard& shard, std::string_view node) {
  return std::ranges::find(shard.replicas, node) != shard.replicas.end();
}

std::string mistake_of_node(const MapNode& node) {
  if (!config::is_cluster_name(node.name)) {
    return "name: \"" + node.name + "\" is not a name (allowed: at most 100 letters, digits, . _ -)";
  }
  if (!config::is_host_and_port(node.peer)) {
    return "peer: \"" + node.peer + "\" is not an address and a port";
  }
  if (!node.address.empty() && !config::is_host_and_port(node.address)) {
    return "address: \"" + node.address + "\" is not an address and a port";
  }
  return {};
}

std::string mistake_of_nodes(const std::vector<MapNode>& nodes) {
  std::map<std::string_view, std::size_t> peers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string place = "nodes[" + std::to_string(i) + "].";
    if (std::string wrong = mistake_of_node(nodes[i]); !wrong.empty()) {
      return place + wrong;
    }
    if (i > 0 && nodes[i - 1].name >= nodes[i].name) {
      return place + "name: " + nodes[i].name + " does not follow " + nodes[i - 1].name;
    }
    if (const auto [same, first] = peers.try_emplace(nodes[i].peer, i); !first) {
      return place + "peer: " + nodes[i].peer + " is also the peer of node " + nodes[same->second].name;
    }
  }
  return {};
}

std::string mistake_of_replicas(const ClusterMap& map, const MapShard& shard) {
  if (shard.replicas.size() < map.replicas) {
    return "replicas: has " + std::to_string(shard.replicas.size()) + ", and must have " +
           std::to_string(map.replicas);
  }
  std::set<std::string_view> seen;
  for (const std::string& name : shard.replicas) {
    if (map.find_node(name) == nullptr) {
      return "replicas: names node " + name + ", which is not in nodes";
    }
    if (!seen.insert(name).second) {
      return "replicas: names node " + name + " twice";
    }
  }
  return keeps(shard, shard.prefers) ? std::string{} : "prefers: " + shard.prefers + " is not in replicas";
}

std::string mistake_of_shards(const ClusterMap& map) {
  std::map<std::int32_t, std::size_t> partitions;
  for (std::size_t i = 0; i < map.shards.size(); ++i) {
    const MapShard& shard = map.shards[i];
    const std::string place = "shards[" + std::to_string(i) + "].";
    if (shard.from.size() > kMostSplitBytes) {
      return place + "from: is longer than a key, 250 bytes";
    }
    if (shard.from.empty() != (i == 0)) {
      return place +
             (i == 0 ? "from: must be empty, the least key" : "from: is empty, which only the first may be");
    }
    if (i > 0 && map.shards[i - 1].from >= shard.from) {
      return place + "from: is not greater than the one of shard " + std::to_string(i - 1);
    }
    if (shard.partition < 0) {
      return place + "partition: is negative";
    }
    if (const auto [same, first] = partitions.try_emplace(shard.partition, i); !first) {
      return place + "partition: " + std::to_string(shard.partition) + " is also the partition of shard " +
             std::to_string(same->second);
    }
    if (std::string wrong = mistake_of_replicas(map, shard); !wrong.empty()) {
      return place + wrong;
    }
  }
  return {};
}

/// How many shards each node is to own by the map, and how many it keeps.
class Loads {
 public:
  explicit Loads(const ClusterMap& map) {
    for (const MapNode& node : map.nodes) {
      loads_[node.name] = {};
    }
    for (const MapShard& shard : map.shards) {
      ++loads_[shard.prefers].owned;
      for (const std::string& name : shard.replicas) {
        ++loads_[name].kept;
      }
    }
  }
  void own(const std::string& name) { ++loads_[name].owned; }
  void keep(const std::string& name) { ++loads_[name].kept; }

  /// The node of `names` that owns fewest shards; among equals, the one that keeps fewest. Empty if `names`
  /// is.
  [[nodiscard]] std::string idlest_owner(const std::vector<std::string>& names) const {
    return least(names, [this](const std::string& name) {
      const Load& load = loads_.at(name);
      return std::pair{load.owned, load.kept};
    });
  }
  [[nodiscard]] std::string idlest_keeper(const std::vector<std::string>& names) const {
    return least(names, [this](const std::string& name) {
      const Load& load = loads_.at(name);
      return std::pair{load.kept, load.owned};
    });
  }

 private:
  struct Load {
    std::size_t owned = 0;
    std::size_t kept = 0;
  };
  template <class Weight>
  [[nodiscard]] static std::string least(const std::vector<std::string>& names, const Weight& weight) {
    const auto at = std::ranges::min_element(names, {}, weight);
    return at == names.end() ? std::string{} : *at;
  }
  std::map<std::string, Load> loads_;
};

Result<ClusterMap> next(const ClusterMap& before, ClusterMap map) {
  MXKV_ASSERT(same_shards(before, map) && map.cluster == before.cluster,
              "an edit leaves keys and logs of the shards as they are");
  MXKV_ASSERT(map.version == before.version, "an edit makes the next version");
  ++map.version;
  if (std::string wrong = mistake_of(map); !wrong.empty()) {
    return Error{std::move(wrong)};
  }
  return map;
}

Error no_node(std::string_view name) {
  return Error{"node " + std::string{name} + " is not in the map"};
}

}  // namespace

const ClusterMap::Node* ClusterMap::find_node(std::string_view name) const {
  const auto at = std::ranges::find(nodes, name, &MapNode::name);
  return at == nodes.end() ? nullptr : &*at;
}

std::vector<std::string> ClusterMap::splits() const {
  std::vector<std::string> all;
  for (std::size_t i = 1; i < shards.size(); ++i) {
    all.push_back(shards[i].from);
  }
  return all;
}

std::string mistake_of(const ClusterMap& map) {
  if (map.version == 0 || map.version > kMostExact) {
    return "version: must be 1 to 2^53 - 1";
  }
  if (map.cluster == 0 || map.cluster > kMostExact) {
    return "cluster: must be 1 to 2^53 - 1";
  }
  if (map.replicas == 0) {
    return "replicas: must be at least 1";
  }
  if (map.lease_ms < kShortestLeaseNs / kLeaseUnitNs || map.lease_ms > kLongestLeaseNs / kLeaseUnitNs) {
    return "lease_ms: must be 500 to 60000";
  }
  if (map.shards.empty()) {
    return "shards: is empty";
  }
  std::string wrong = mistake_of_nodes(map.nodes);
  return wrong.empty() ? mistake_of_shards(map) : wrong;
}

bool same_shards(const ClusterMap& a, const ClusterMap& b) {
  return std::ranges::equal(a.shards, b.shards, [](const MapShard& one, const MapShard& other) {
    return one.from == other.from && one.partition == other.partition;
  });
}

Result<ClusterMap> first_map(std::uint64_t cluster, std::uint32_t replicas, std::uint32_t lease_ms,
                             std::vector<MapNode> nodes, const std::vector<std::string>& splits) {
  std::ranges::sort(nodes, {}, &MapNode::name);
  const std::size_t count = nodes.size();
  if (replicas > count) {
    return Error{"each shard needs " + std::to_string(replicas) + " replicas, but there are only " +
                 std::to_string(count) + " nodes"};
  }
  ClusterMap map{.version = 1,
                 .cluster = cluster,
                 .replicas = replicas,
                 .lease_ms = lease_ms,
                 .shards = {},
                 .nodes = std::move(nodes)};
  for (std::size_t i = 0; i <= splits.size() && count > 0; ++i) {
    MapShard shard{.from = i == 0 ? std::string{} : splits[i - 1],
                   .partition = static_cast<std::int32_t>(i),
                   .replicas = {map.nodes[i % count].name},
                   .prefers = map.nodes[i % count].name};
    // The shards of one owner have their other replicas on different nodes. If that owner ends, these share
    // its load.
    for (std::size_t j = 1; j < replicas; ++j) {
      shard.replicas.push_back(map.nodes[(i + 1 + (i / count + j - 1) % (count - 1)) % count].name);
    }
    map.shards.push_back(std::move(shard));
  }
  if (std::string wrong = mistake_of(map); !wrong.empty()) {
    return Error{std::move(wrong)};
  }
  return map;
}

Result<ClusterMap> with_node(const ClusterMap& map, const MapNode& node) {
  ClusterMap changed = map;
  const auto at = std::ranges::lower_bound(changed.nodes, node.name, {}, &MapNode::name);
  if (at != changed.nodes.end() && at->name == node.name) {
    if (*at == node) {
      return Error{"node " + node.name + " is in the map already"};
    }
    *at = node;
  } else {
    changed.nodes.insert(at, node);
  }
  return next(map, std::move(changed));
}

Result<ClusterMap> without_node(const ClusterMap& map, std::string_view name) {
  const auto kept =
      std::ranges::count_if(map.shards, [name](const MapShard& shard) { return keeps(shard, name); });
  if (kept != 0) {
    const bool goes = std::ranges::none_of(map.shards, [&](const MapShard& shard) {
      const auto place = std::ranges::find(shard.replicas, name) - shard.replicas.begin();
      return shard.prefers == name ||
             static_cast<std::uint64_t>(place) < std::min<std::uint64_t>(map.replicas, shard.replicas.size());
    });
    return Error{
        "node " + std::string{name} + " keeps " + std::to_string(kept) + (kept == 1 ? " shard" : " shards") +
        (goes ? " until the others have it: mxkvd cluster settle, once they do" : ": drain it first")};
  }
  ClusterMap changed = map;
  if (std::erase_if(changed.nodes, [name](const MapNode& node) { return node.name == name; }) == 0) {
    return no_node(name);
  }
  return next(map, std::move(changed));
}

Result<ClusterMap> moved(const ClusterMap& map, std::uint32_t shard, std::string_view node) {
  if (shard >= map.shards.size()) {
    return Error{"there is no shard " + std::to_string(shard) + ": there are 0 to " +
                 std::to_string(map.shards.size() - 1)};
  }
  if (map.find_node(node) == nullptr) {
    return no_node(node);
  }
  ClusterMap changed = map;
  MapShard& one = changed.shards[shard];
  if (one.prefers == node) {
    return Error{"shard " + std::to_string(shard) + " prefers node " + std::string{node} + " already"};
  }
  // A replica that has to go stands last.
  if (!keeps(one, node)) {
    std::erase(one.replicas, one.prefers);
    one.replicas.push_back(one.prefers);
  } else {
    std::erase(one.replicas, node);
  }
  one.replicas.insert(one.replicas.begin(), std::string{node});
  one.prefers = node;
  return next(map, std::move(changed));
}

Result<ClusterMap> drained(const ClusterMap& map, std::string_view node) {
  if (map.find_node(node) == nullptr) {
    return no_node(node);
  }
  if (map.nodes.size() - 1 < map.replicas) {
    return Error{"without node " + std::string{node} + " there are " + std::to_string(map.nodes.size() - 1) +
                 " nodes, and each shard has " + std::to_string(map.replicas) + " replicas"};
  }
  ClusterMap changed = map;
  Loads loads{map};
  bool any = false;
  for (MapShard& shard : changed.shards) {
    if (!keeps(shard, node)) {
      continue;
    }
    any = true;
    std::erase(shard.replicas, node);
    if (shard.replicas.size() < map.replicas) {
      std::vector<std::string> others;
      for (const MapNode& other : map.nodes) {
        if (other.name != node && !keeps(shard, other.name)) {
          others.push_back(other.name);
        }
      }
      MXKV_ASSERT(!others.empty(), "there are as many nodes as replicas without the drained one");
      shard.replicas.push_back(loads.idlest_keeper(others));
      loads.keep(shard.replicas.back());
    }
    if (shard.prefers == node) {
      shard.prefers = loads.idlest_owner(shard.replicas);
      loads.own(shard.prefers);
    }
    shard.replicas.emplace_back(node);
  }
  if (!any) {
    return Error{"node " + std::string{node} + " keeps no shard"};
  }
  return next(map, std::move(changed));
}

Result<ClusterMap> with_lease(const ClusterMap& map, std::uint32_t lease_ms) {
  if (map.lease_ms == lease_ms) {
    return Error{"the lease is " + std::to_string(lease_ms) + " ms already"};
  }
  ClusterMap changed = map;
  changed.lease_ms = lease_ms;
  return next(map, std::move(changed));
}

bool has_surplus(const ClusterMap& map) {
  return std::ranges::any_of(map.shards,
                             [&map](const MapShard& shard) { return shard.replicas.size() > map.replicas; });
}

Result<ClusterMap> settled(const ClusterMap& map) {
  if (!has_surplus(map)) {
    return Error{"no shard has a replica too many"};
  }
  ClusterMap changed = map;
  for (MapShard& shard : changed.shards) {
    while (shard.replicas.size() > map.replicas) {
      auto last = shard.replicas.end() - 1;
      if (*last == shard.prefers) {
        MXKV_ASSERT(last != shard.replicas.begin(), "a surplus replica stands beside the owner");
        --last;
      }
      shard.replicas.erase(last);
    }
  }
  return next(map, std::move(changed));
}

}  // namespace mxkv::server

#include "server/cluster/cluster_state.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNearlyThere = 1000;  ///< messages that a replica may lag

/// Makes each column as wide as its widest cell; the first row is the head.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  MXKV_ASSERT(!rows.empty(), "a table has a head");
  std::vector<std::size_t> widths(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(i + 1 == row.size() ? 0 : widths[i] - row[i].size() + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The map's nodes in its order, then other nodes that were heard.
std::vector<std::string> names_of_nodes(const ClusterState& state) {
  std::vector<std::string> names;
  for (const ClusterMap::Node& node : state.map.nodes) {
    names.push_back(node.name);
  }
  for (const auto& [name, node] : state.nodes) {
    if (state.map.find_node(name) == nullptr) {
      names.push_back(name);
    }
  }
  return names;
}

struct NodeFacts {
  std::string state;
  std::string peer;
  std::string address;
  std::string version;
  std::uint64_t map = 0;
  std::size_t owns = 0;   ///< now
  std::size_t keeps = 0;  ///< now
};

NodeFacts facts_of_node(const ClusterState& state, const std::string& name) {
  NodeFacts facts{.state = "never heard of", .peer = {}, .address = {}, .version = {}};
  if (const ClusterMap::Node* const node = state.map.find_node(name)) {
    facts.peer = node->peer;
    facts.address = node->address;
  }
  const auto heard = state.nodes.find(name);
  if (heard == state.nodes.end()) {
    return facts;
  }
  const Presence& said = heard->second.said;
  facts.state = heard->second.alive ? "alive" : "silent";
  facts.peer = said.peer;  // the node's present address; the map has the one from when the node was added
  facts.address = said.address;
  facts.version = said.version;
  facts.map = said.map_version;
  if (heard->second.alive) {
    facts.keeps = said.shards.size();
    facts.owns = static_cast<std::size_t>(std::ranges::count_if(said.shards, &ShardPresence::serves));
  }
  if (state.map.find_node(name) == nullptr) {
    facts.state += ", not in the map";
  }
  return facts;
}

/// Such as "b 12 behind, c silent, d stranded"; empty: all replicas have the data.
std::string lags_of(const ClusterState& state, std::uint32_t shard) {
  std::vector<std::string> lags;
  for (const std::string& name : state.map.shards[shard].replicas) {
    const ShardPresence* const replica = state.replica(name, shard);
    if (replica == nullptr) {
      const auto heard = state.nodes.find(name);
      lags.push_back(name + (heard != state.nodes.end() && heard->second.alive ? " lacks it" : " silent"));
    } else if (!replica->has_data()) {
      lags.push_back(name + " " + replica->role);
    } else if (const std::uint64_t behind = state.behind(*replica); behind != 0) {
      lags.push_back(name + " " + std::to_string(behind) + " behind");
    }
  }
  return joined(lags);
}

std::string base64_text(std::string_view key) {
  std::string text((key.size() + 2) / 3 * 4, '\0');
  protocol::write_base64(text.data(), key);
  return text;
}

}  // namespace

const ShardPresence* ClusterState::replica(std::string_view node, std::uint32_t shard) const {
  const auto heard = nodes.find(node);
  if (heard == nodes.end() || !heard->second.alive) {
    return nullptr;
  }
  const auto at = std::ranges::find(heard->second.said.shards, shard, &ShardPresence::id);
  return at == heard->second.said.shards.end() ? nullptr : &*at;
}

std::string ClusterState::owner(std::uint32_t shard) const {
  std::string owner;
  std::uint64_t term = 0;
  for (const auto& [name, node] : nodes) {
    const ShardPresence* const one = replica(name, shard);
    if (one != nullptr && one->serves && one->term >= term) {
      owner = name;
      term = one->term;
    }
  }
  return owner;
}

std::uint64_t ClusterState::behind(const ShardPresence& replica) const {
  std::uint64_t foremost = replica.position;
  for (const auto& [name, node] : nodes) {
    if (const ShardPresence* const other = this->replica(name, replica.id)) {
      foremost = std::max(foremost, other->position);
    }
  }
  MXKV_ASSERT(foremost >= replica.position, "no replica is ahead of the foremost");
  return foremost - replica.position;
}

std::string text_of_split(std::string_view key) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      text.append("\\x").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 0xfU]);
    }
  }
  return text;
}

std::string state_table(const std::string& cluster, const ClusterState& state) {
  const ClusterMap& map = state.map;
  std::string text = "cluster " + cluster + ", map " + std::to_string(map.version) + ": " +
                     count_text(map.shards.size(), "shard") + ", " + count_text(map.replicas, "replica") +
                     " each, " + count_text(map.nodes.size(), "node") + ", lease " +
                     std::to_string(map.lease_ms) + " ms\n\n";
  std::vector<std::vector<std::string>> rows{
      {"node", "state", "peer", "address", "map", "owns", "keeps", "version"}};
  for (const std::string& name : names_of_nodes(state)) {
    const NodeFacts facts = facts_of_node(state, name);
    rows.push_back({name, facts.state, facts.peer, facts.address.empty() ? "-" : facts.address,
                    facts.map == 0 ? "-" : std::to_string(facts.map), std::to_string(facts.owns),
                    std::to_string(facts.keeps), facts.version.empty() ? "-" : facts.version});
  }
  text += aligned(rows) + "\n";
  rows = {{"shard", "from", "owner", "term", "prefers", "replicas", "lag"}};
  for (std::uint32_t i = 0; i < map.shards.size(); ++i) {
    const ClusterMap::Shard& shard = map.shards[i];
    const std::string owner = state.owner(i);
    rows.push_back({std::to_string(i), i == 0 ? "(the least key)" : text_of_split(shard.from),
                    owner.empty() ? "NONE" : owner,
                    owner.empty() ? "-" : std::to_string(state.replica(owner, i)->term), shard.prefers,
                    joined(shard.replicas), lags_of(state, i)});
  }
  return text + aligned(rows);
}

std::string state_json(const std::string& cluster, const ClusterState& state) {
  using nlohmann::json;
  const ClusterMap& map = state.map;
  json nodes = json::array();
  for (const std::string& name : names_of_nodes(state)) {
    const NodeFacts facts = facts_of_node(state, name);
    nodes.push_back({{"name", name},
                     {"alive", facts.state.starts_with("alive")},
                     {"in_map", map.find_node(name) != nullptr},
                     {"peer", facts.peer},
                     {"address", facts.address},
                     {"version", facts.version},
                     {"map", facts.map},
                     {"owns", facts.owns},
                     {"keeps", facts.keeps}});
  }
  json shards = json::array();
  for (std::uint32_t i = 0; i < map.shards.size(); ++i) {
    const ClusterMap::Shard& shard = map.shards[i];
    json replicas = json::array();
    for (const std::string& name : shard.replicas) {
      json replica{{"node", name}};
      if (const ShardPresence* const said = state.replica(name, i)) {
        replica["role"] = said->role;
        replica["term"] = said->term;
        replica["position"] = said->position;
        replica["behind"] = state.behind(*said);
      }
      replicas.push_back(std::move(replica));
    }
    const std::string owner = state.owner(i);
    shards.push_back({{"id", i},
                      {"from", base64_text(shard.from)},
                      {"owner", owner.empty() ? json{} : json(owner)},
                      {"prefers", shard.prefers},
                      {"replicas", std::move(replicas)}});
  }
  const json document{{"cluster", cluster},       {"map", map.version},        {"replicas", map.replicas},
                      {"lease_ms", map.lease_ms}, {"nodes", std::move(nodes)}, {"shards", std::move(shards)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string without_owner(const ClusterState& state) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> missing;
  for (std::uint32_t i = 0; i < state.map.shards.size(); ++i) {
    if (state.owner(i).empty()) {
      missing.push_back(std::to_string(i));
    }
  }
  if (missing.empty()) {
    return {};
  }
  const std::size_t count = missing.size();
  missing.resize(std::min(count, kMostNamed));
  return count_text(count, "shard") + " of " + std::to_string(state.map.shards.size()) +
         (count == 1 ? " has" : " have") + " no owner: " + joined(missing) +
         (count > kMostNamed ? ", ..." : "");
}

std::string follows_another_map(const ClusterState& state) {
  for (const ClusterMap::Node& node : state.map.nodes) {
    const auto heard = state.nodes.find(node.name);
    if (heard == state.nodes.end() || !heard->second.alive) {
      return "node " + node.name + " is silent";
    }
    if (heard->second.said.map_version < state.map.version) {
      return "node " + node.name + " still follows map " + std::to_string(heard->second.said.map_version);
    }
  }
  return {};
}

std::string still_missing(const ClusterState& state, std::optional<std::uint32_t> only) {
  for (std::uint32_t i = 0; i < state.map.shards.size(); ++i) {
    if (only.value_or(i) != i) {
      continue;
    }
    const ClusterMap::Shard& shard = state.map.shards[i];
    const std::string start = "shard " + std::to_string(i) + ": ";
    for (std::size_t place = 0; place < shard.replicas.size(); ++place) {
      const std::string& name = shard.replicas[place];
      if (place >= state.map.replicas && name != shard.prefers) {
        continue;  // this replica goes
      }
      const ShardPresence* const replica = state.replica(name, i);
      if (replica == nullptr) {
        return start + "node " + name + " has no copy of it yet";
      }
      if (!replica->has_data()) {
        return start + "node " + name +
               (replica->role == "loads" ? " loads it" : " cannot replicate it now (stranded)");
      }
      if (const std::uint64_t behind = state.behind(*replica); behind > kNearlyThere) {
        return start + "node " + name + " is " + count_text(behind, "message") + " behind";
      }
    }
    if (const std::string owner = state.owner(i); owner != shard.prefers) {
      return start + (owner.empty() ? "has no owner yet"
                                    : "is still owned by " + owner + ", not by " + shard.prefers);
    }
  }
  return {};
}

std::vector<std::string> changes_of(const ClusterMap& before, const ClusterMap& after) {
  std::vector<std::string> lines;
  if (after.lease_ms != before.lease_ms) {
    lines.push_back("lease: " + std::to_string(before.lease_ms) + " ms -> " + std::to_string(after.lease_ms) +
                    " ms");
  }
  for (const ClusterMap::Node& node : after.nodes) {
    const ClusterMap::Node* const old = before.find_node(node.name);
    if (old == nullptr || *old != node) {
      lines.push_back("node " + node.name + (old == nullptr ? " joins" : " is now") + " at " + node.peer);
    }
  }
  for (const ClusterMap::Node& node : before.nodes) {
    if (after.find_node(node.name) == nullptr) {
      lines.push_back("node " + node.name + " leaves");
    }
  }
  for (std::size_t i = 0; i < after.shards.size(); ++i) {
    const ClusterMap::Shard& shard = after.shards[i];
    const ClusterMap::Shard& old = before.shards[i];
    if (shard == old) {
      continue;
    }
    std::vector<std::string> stay{shard.replicas.begin(), shard.replicas.begin() + after.replicas};
    std::vector<std::string> go{shard.replicas.begin() + after.replicas, shard.replicas.end()};
    lines.push_back("shard " + std::to_string(i) + ": " +
                    (old.prefers == shard.prefers ? shard.prefers : old.prefers + " -> " + shard.prefers) +
                    ", kept by " + joined(stay) +
                    (go.empty() ? "" : ", and by " + joined(go) + " until they have it"));
  }
  return lines;
}

}  // namespace mxkv::server

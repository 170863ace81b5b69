// A node's word about itself on the cluster's board, once a second: that it lives, its addresses, and how far
// its shards have come. Pure: JSON text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mxkv::server {

/// A shard that a node holds.
struct ShardPresence {
  std::uint32_t id = 0;
  std::string role;  ///< loads, follows, claims, owns, leaves, stranded, or ends (with its node)
  std::uint64_t term = 0;
  std::uint64_t position = 0;  ///< of the log: all before it has been read
  bool serves = false;         ///< this node answers requests for its keys: its lease runs

  /// Whether the replica goes on with its log and has the data it claims. One that loads, or is stranded, may have
  /// the same position in the log and still lack data. It has given up the shard, if it owned it.
  [[nodiscard]] bool has_data() const { return role != "loads" && role != "stranded"; }

  friend bool operator==(const ShardPresence&, const ShardPresence&) = default;
};

struct Presence {
  static constexpr std::uint64_t kNotTold = ~std::uint64_t{0};

  std::string name;           ///< of the node
  std::uint64_t process = 0;  ///< a new number after each start, never 0
  std::string address;        ///< for clients
  std::string peer;           ///< for other nodes
  std::string version;        ///< of the program
  std::uint64_t map_version = 0;
  std::uint64_t said_ns = 0;  ///< when it said this, by its own clock
  std::uint64_t read = 0;     ///< of the board: it had read all before this position
  /// Its changes older than this, at said_ns, are acknowledged by the logs. An older server does not state
  /// it.
  std::uint64_t behind_ns = kNotTold;
  std::vector<ShardPresence> shards;

  /// Null: the node does not hold the shard.
  [[nodiscard]] const ShardPresence* find(std::uint32_t shard) const {
    const auto found = std::ranges::find(shards, shard, &ShardPresence::id);
    return found == shards.end() ? nullptr : &*found;
  }
  /// The node hands over its shards and ends.
  [[nodiscard]] bool ends() const {
    return std::ranges::any_of(shards, [](const ShardPresence& one) { return one.role == "ends"; });
  }

  friend bool operator==(const Presence&, const Presence&) = default;
};

/// Thread-safety: any thread.
[[nodiscard]] std::string write_presence(const Presence& presence);
/// Nothing: the text is no presence. Thread-safety: any thread.
[[nodiscard]] std::optional<Presence> parse_presence(std::string_view text);

}  // namespace mxkv::server

// What a node says of itself on the cluster's board once a second: that it lives, where it is, and how far its shards
// have come. Pure: JSON text.
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
  std::uint64_t position = 0;  ///< of the log: all before it is known
  bool serves = false;         ///< requests for its keys are answered by this node: its lease runs

  friend bool operator==(const ShardPresence&, const ShardPresence&) = default;
};

struct Presence {
  static constexpr std::uint64_t kNotTold = ~std::uint64_t{0};

  std::string name;           ///< of the node
  std::uint64_t process = 0;  ///< another one behind each start, never 0
  std::string address;        ///< that clients are told
  std::string peer;           ///< that other nodes use
  std::string version;        ///< of the program
  std::uint64_t map_version = 0;
  std::uint64_t said_ns = 0;  ///< by its own clock, when it said this
  std::uint64_t read = 0;     ///< of the board: all before this position it had read
  /// Its changes that were older than this when it said so are acknowledged by the logs. An older server tells none.
  std::uint64_t behind_ns = kNotTold;
  std::vector<ShardPresence> shards;

  /// Null: the node does not hold it.
  [[nodiscard]] const ShardPresence* find(std::uint32_t shard) const {
    const auto found = std::ranges::find(shards, shard, &ShardPresence::id);
    return found == shards.end() ? nullptr : &*found;
  }

  friend bool operator==(const Presence&, const Presence&) = default;
};

/// Thread-safety: any thread.
[[nodiscard]] std::string write_presence(const Presence& presence);
/// Nothing: that is none. Thread-safety: any thread.
[[nodiscard]] std::optional<Presence> parse_presence(std::string_view text);

}  // namespace mxkv::server

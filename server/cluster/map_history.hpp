// Decides which map is in force: in the order of the topic that keeps the maps, the first one whose version
// is the next.
//
// All readers of that topic find the same map. If two writers make the same version, the first one wins, and
// the other writer sees that and edits the new map instead. Keys differ by writer, so compaction keeps both
// maps and their order.
//
// The shards' first keys and their logs' partitions are fixed for good: running nodes rely on them.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/cluster/cluster_map.hpp"

namespace mxkv::server {

/// "map/7/4a1f": version 7, by the writer with that number.
[[nodiscard]] std::string map_key(std::uint64_t version, std::uint64_t writer);
/// 0: the key is not a map's.
[[nodiscard]] std::uint64_t version_of_map_key(std::string_view key);
/// "node/a".
[[nodiscard]] std::string presence_key(std::string_view node);
/// The node's name; empty: the key is not a node's.
[[nodiscard]] std::string_view node_of_key(std::string_view key);

class MapHistory {
 public:
  /// Takes the topic's next message; no value: the key was removed. Returns whether another map is now in
  /// force.
  bool take(std::string_view key, std::optional<std::string_view> value);

  /// The map in force. Null: none.
  [[nodiscard]] const ClusterMap* current() const noexcept { return current_ ? &*current_ : nullptr; }
  /// That map's key.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  /// Why the last map with the next version was rejected; empty: none was.
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
  /// How many were rejected.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  /// Why `map`, as this version, may not follow the map in force; empty: it may.
  [[nodiscard]] std::string mistake_behind(const ClusterMap& map, std::uint64_t version) const;

  std::optional<ClusterMap> current_;
  std::string key_;
  std::string complaint_;
  std::uint64_t left_out_ = 0;
};

}  // namespace mxkv::server

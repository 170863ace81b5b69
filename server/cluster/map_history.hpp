// Which map is in force: the first one of a version above the one before, in the order of the topic that keeps them.
//
// Whoever reads that topic comes to the same one. A version that two wrote at once is the first one's, and the other one
// sees that and edits the new map instead. Keys differ by writer, so that compaction keeps both and the order with them.
//
// Where shards begin, and in which partitions their logs are, is fixed for good: nodes that run rely on it.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/cluster/cluster_map.hpp"

namespace mxkv::server {

/// "map/7/4a1f": version 7, by the writer of that number.
[[nodiscard]] std::string map_key(std::uint64_t version, std::uint64_t writer);
/// 0: the key is none of a map.
[[nodiscard]] std::uint64_t version_of_map_key(std::string_view key);
/// "node/a".
[[nodiscard]] std::string presence_key(std::string_view node);
/// The node's name; empty: the key is no such one.
[[nodiscard]] std::string_view node_of_key(std::string_view key);

class MapHistory {
 public:
  /// The topic's next message; no value: the key was removed. Returns whether another map is in force now.
  bool take(std::string_view key, std::optional<std::string_view> value);

  /// The one in force. Null: there is none.
  [[nodiscard]] const ClusterMap* current() const noexcept { return current_ ? &*current_ : nullptr; }
  /// The key that it came with.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  /// Of the last map that was left out though its version was next; empty: none was.
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
  /// How many such there were.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  /// Why it is not to follow the one in force, as the one of the version; empty: it may.
  [[nodiscard]] std::string mistake_behind(const ClusterMap& map, std::uint64_t version) const;

  std::optional<ClusterMap> current_;
  std::string key_;
  std::string complaint_;
  std::uint64_t left_out_ = 0;
};

}  // namespace mxkv::server
